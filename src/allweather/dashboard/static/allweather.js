// The page of a study: figures, and updates that keep what the user is typing.
(() => {
  "use strict";
  const TOOLBAR = [["toImage", "zoom2d", "pan2d", "resetScale2d"]];
  const SLOW = 5; // seconds: slower results are recomputed only on request
  const objectiveForm = document.getElementById("objective-form");
  const recommendation = document.getElementById("recommendation");
  const pending = document.getElementById("pending");
  const knownContext = document.querySelector("#policy-form select");

  const debounce = (work, wait) => {
    let timer;
    return () => {
      clearTimeout(timer);
      timer = setTimeout(work, wait);
    };
  };

  const objectiveQuery = () => new URLSearchParams(objectiveForm ? new FormData(objectiveForm) : "");

  // Remove unused space below the legend.
  const fit = async (plot) => {
    const parts = plot.querySelectorAll('.legend .bg, [class^="x"][class$="title"], [class^="x"][class$="tick"]');
    const lowest = [...parts].map((each) => each.getBoundingClientRect().bottom);
    const spare = Math.floor(plot.getBoundingClientRect().bottom - Math.max(...lowest)) - 12;
    const { height, margin } = plot.layout;
    if (lowest.length && spare > 8) await window.Plotly.relayout(plot, { height: height - spare, "margin.b": margin.b - spare });
  };

  // Visible figures are requested one after the other, since browsers limit the connections to a server.
  const queue = [];
  let current = null;
  const next = async () => {
    while (!current && queue.length) {
      current = queue.shift();
      if (current.visible && current.stale) await current.load();
      const done = current;
      current = null;
      done.settle();
    }
  };

  class Figure {
    constructor(element) {
      this.element = element;
      this.plot = element.querySelector(".plot");
      this.state = element.querySelector(".state");
      this.caption = element.querySelector("figcaption");
      this.visible = false;
      this.stale = true;
      this.seconds = 0; // of the last computation
      this.loading = null;
    }

    invalidate(requested) {
      this.stale = true;
      if (requested) this.seconds = 0;
      if (requested && this.loading) this.loading.abort();
      this.settle();
    }

    setVisible(visible) {
      this.visible = visible;
      this.settle();
    }

    settle() {
      if (!this.stale || !this.visible || this === current || queue.includes(this)) return;
      const outcomes = Number(document.getElementById("summary").dataset.outcomes);
      const needs = Number(this.element.dataset.needs);
      if (outcomes < needs) {
        this.state.textContent = outcomes ? `At least ${needs} outcomes are needed.` : "No complete trial yet.";
      } else if (this.seconds > SLOW) {
        this.offerRedraw();
      } else {
        this.state.textContent = "Computing ...";
        queue.push(this);
        next();
      }
    }

    offerRedraw() {
      const button = document.createElement("button");
      button.textContent = "Redraw";
      button.addEventListener("click", () => this.invalidate(true));
      this.state.replaceChildren("New data since this figure was drawn. ", button);
    }

    async load() {
      this.loading = new AbortController();
      this.stale = false;
      this.element.setAttribute("aria-busy", "true");
      try {
        await this.draw(this.loading.signal);
      } catch (error) {
        if (error.name !== "AbortError") this.fail(error.message);
      }
      this.element.removeAttribute("aria-busy");
      this.loading = null;
    }

    async draw(signal) {
      const query = objectiveQuery();
      query.set("width", Math.min(Math.max(Math.floor(this.plot.clientWidth / 40) * 40, 240), 4000));
      if (knownContext) query.set("by", knownContext.value);
      const response = await fetch(`${this.element.dataset.src}?${query}`, { signal });
      if (response.status === 401) window.location.assign(`${document.documentElement.dataset.root}/login`);
      const found = await response.json();
      if (!response.ok) throw new Error(found.detail);
      const timing = /dur=(\d+)/.exec(response.headers.get("server-timing") || "");
      this.seconds = timing ? timing[1] / 1000 : 0;
      const layout = { ...found.figure.layout, uirevision: "kept", autosize: true };
      await window.Plotly.react(this.plot, found.figure.data, layout, { responsive: true, displaylogo: false, modeBarButtons: TOOLBAR });
      await fit(this.plot);
      this.state.textContent = "";
      delete this.element.dataset.failed;
      this.caption.textContent = found.says;
      this.plot.setAttribute("aria-label", found.says);
      this.element.dataset.drawn = String(Number(this.element.dataset.drawn || 0) + 1);
    }

    fail(message) {
      this.state.textContent = `Cannot draw this figure: ${message}`;
      this.element.dataset.failed = "";
      window.Plotly.purge(this.plot);
    }
  }

  const figures = [...document.querySelectorAll(".figure")].map((element) => new Figure(element));
  const watcher = new IntersectionObserver(
    (changes) => changes.forEach((each) => figures.find((one) => one.element === each.target).setVisible(each.isIntersecting)),
    { rootMargin: "200px" },
  );
  figures.forEach((each) => watcher.observe(each.element));

  // The policy: another context variable needs another figure.
  if (knownContext) {
    knownContext.addEventListener("change", () => figures.filter((each) => each.element.id === "figure-policy").forEach((each) => each.invalidate(true)));
  }

  // The tolerance changes the recommendation only.
  const tolerance = document.getElementById("tolerance");
  const applyTolerance = debounce(() => tolerance.reportValidity() && window.htmx.trigger(recommendation, "refresh"), 400);
  if (tolerance) {
    tolerance.addEventListener("input", applyTolerance);
    if (!objectiveForm) tolerance.form.addEventListener("submit", (event) => event.preventDefault());
  }

  // The objective form: each slider follows its number field, and a change of radius or level selects its objective.
  const showParts = () => {
    const objective = objectiveForm.elements.objective.value;
    objectiveForm.querySelectorAll(".part").forEach((part) => {
      part.classList.toggle("unused", part.dataset.for !== objective);
    });
    const distance = objectiveForm.elements.distance;
    document.getElementById("radius-slider").max = distance.selectedOptions[0].dataset.max;
  };
  const apply = debounce(() => {
    if (!objectiveForm.reportValidity()) return;
    window.htmx.trigger(recommendation, "refresh");
    figures.forEach((each) => each.invalidate(true));
    const report = document.getElementById("report");
    report.search = objectiveQuery().toString();
  }, 250);
  if (objectiveForm) {
    objectiveForm.addEventListener("input", (event) => {
      const field = event.target;
      const part = field.closest(".part");
      if (part) objectiveForm.elements.objective.value = part.dataset.for;
      if (field.dataset.number) document.getElementById(field.dataset.number).value = field.value;
      const slider = document.getElementById(`${field.id}-slider`);
      if (slider) slider.value = field.value;
      showParts();
      apply();
    });
    objectiveForm.addEventListener("submit", (event) => event.preventDefault());
    showParts();
  }

  // Updates: new results are shown, but forms with unsaved input stay as they are.
  const hasInput = (card) =>
    card.contains(document.activeElement) ||
    [...card.querySelectorAll("input:not([type=hidden]), select")].some((each) =>
      each.type === "checkbox" ? each.checked !== each.defaultChecked
      : each.tagName === "SELECT" ? ![...each.options].every((one) => one.selected === one.defaultSelected) && each.value !== ""
      : each.value !== each.defaultValue);

  const merge = (fresh) => {
    const cards = new Map([...fresh.querySelectorAll(".card")].map((card) => [card.id, card]));
    for (const card of pending.querySelectorAll(".card")) {
      const newer = cards.get(card.id);
      cards.delete(card.id);
      if (newer) {
        if (newer.dataset.recorded === card.dataset.recorded || hasInput(card)) continue;
        card.replaceWith(newer);
        window.htmx.process(newer);
      } else if (!hasInput(card)) card.remove();
      else if (!card.querySelector(".elsewhere")) {
        const note = document.createElement("p");
        note.className = "note elsewhere";
        note.textContent = "This trial is no longer pending: its result was reported elsewhere.";
        card.prepend(note);
      }
    }
    const numbered = (card) => Number(card.id.replace("trial-", ""));
    for (const card of cards.values()) {
      const before = [...pending.querySelectorAll(".card")].find((one) => numbered(one) < numbered(card));
      pending.insertBefore(card, before || pending.querySelector(".further"));
      window.htmx.process(card);
    }
    const further = fresh.querySelector(".further");
    pending.querySelectorAll(".further").forEach((each) => each.remove());
    if (further) pending.append(further);
    [...pending.querySelectorAll(".saved")].slice(3).forEach((each) => each.remove());
  };

  const updatePending = debounce(async () => {
    const response = await fetch(pending.dataset.src, { headers: { "HX-Request": "true" } }).catch(() => null);
    if (!response || !response.ok) return;
    const fresh = document.createElement("template");
    fresh.innerHTML = await response.text();
    merge(fresh.content);
  }, 50);

  const updateRecommendation = () => {
    if (!recommendation) return;
    const computed = recommendation.querySelector(".computed");
    if (!computed || Number(computed.dataset.seconds) <= SLOW) return window.htmx.trigger(recommendation, "refresh");
    if (recommendation.querySelector(".newer")) return;
    const note = document.createElement("p");
    const button = document.createElement("button");
    button.textContent = "Recompute";
    button.addEventListener("click", () => window.htmx.trigger(recommendation, "refresh"));
    note.className = "note newer";
    note.append("New data since this recommendation was computed. ", button);
    recommendation.prepend(note);
  };

  document.body.addEventListener("study-changed", () => {
    updatePending();
    updateRecommendation();
    const table = document.getElementById("trials");
    if (table.dataset.page === "1" && !table.contains(document.activeElement)) window.htmx.trigger(table, "refresh");
    figures.forEach((each) => each.invalidate(false));
  });

  // The news arrives before the new summary, which says how many outcomes there are.
  document.body.addEventListener("htmx:oobAfterSwap", () => figures.forEach((each) => each.settle()));

  // Errors: remove old messages, and report a server that does not respond.
  document.body.addEventListener("htmx:beforeSwap", (event) => {
    event.detail.target.querySelectorAll(":scope > .error").forEach((each) => each.remove());
  });
  document.body.addEventListener("input", (event) => {
    const place = event.target.closest(".card, .next");
    const old = place ? place.querySelectorAll(".error") : [];
    old.forEach((each) => each.closest(".card, .next") === place && each.remove());
  });
  const setOffline = (offline) => document.body.classList.toggle("offline", offline);
  document.body.addEventListener("htmx:sendError", () => setOffline(true));
  document.body.addEventListener("htmx:afterOnLoad", () => setOffline(false));
})();
