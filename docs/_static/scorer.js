/* Pages whose titles have the words of a query come first, so that a question is found by its title. */
const asked = (new URLSearchParams(window.location.search).get("q") || "").toLowerCase().match(/\w+/g) || [];
var Scorer = {
  score: ([, title, , , score]) => {
    const words = new Set(title.toLowerCase().match(/\w+/g));
    return score + (20 * asked.filter((word) => words.has(word)).length) / Math.max(asked.length, 1);
  },
  objNameMatch: 11,
  objPartialMatch: 6,
  objPrio: { 0: 15, 1: 5, 2: -5 },
  objPrioDefault: 0,
  title: 15,
  partialTitle: 7,
  term: 5,
  partialTerm: 2,
};
