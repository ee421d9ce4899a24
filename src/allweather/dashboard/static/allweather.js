// The study's page: figures drawn from what the server computes, and news without losing what a person is doing.
(() => {
  "use strict";
  const SLOW = 5; // seconds: what takes longer is computed again only when somebody asks for it
  const chooser = document.getElementById("chooser");
  const recommendation = document.getElementById("recommendation");
  const pending = document.getElementById("pending");

  const later = (work, wait) => {
    let timer;
    return () => {
      clearTimeout(timer);
      timer = setTimeout(work, wait);
    };
  };

  const chosen = () => new URLSearchParams(chooser ? new FormData(chooser) : "");

  // On a narrow screen letters are smaller, and long titles go on in a second line.
  const wrapped = (text) => text.replace(/(.{20,34}) /g, "$1<br>");
  const inward = (trace) => {
    if (!(trace.mode || "").includes("text")) return;
    const middle = (Math.min(...trace.x) + Math.max(...trace.x)) / 2;
    trace.textposition = trace.x.map((x) => (x > middle ? "top left" : "top right"));
  };
  const narrow = ({ data, layout }) => {
    data.forEach(inward);
    layout.font = { ...layout.font, size: 11 };
    (layout.annotations || []).forEach((each) => Object.assign(each, { text: wrapped(each.text), font: { size: 12 } }));
    const titles = Object.keys(layout).filter((name) => /^xaxis/.test(name)).map((name) => layout[name].title || {});
    titles.forEach((title) => (title.text = wrapped(title.text || "")));
    if (!titles.some((title) => title.text.includes("<br>"))) return;
    layout.legend = { ...layout.legend, y: layout.legend.y - 0.08 };
    layout.height += 30;
    layout.margin = { ...layout.margin, b: layout.margin.b + 30 };
  };

  // What the legend leaves free below it is given back to the page.
  const fit = async (plot) => {
    const lowest = [...plot.querySelectorAll(".legend .bg, .xtitle, .xtick")].map((each) => each.getBoundingClientRect().bottom);
    const spare = Math.floor(plot.getBoundingClientRect().bottom - Math.max(...lowest)) - 12;
    const { height, margin } = plot.layout;
    if (lowest.length && spare > 8) await window.Plotly.relayout(plot, { height: height - spare, "margin.b": margin.b - spare });
  };

  // Figures are computed one after the other, those on the screen only: a browser has few connections to a server.
  const line = [];
  let current = null;
  const next = async () => {
    while (!current && line.length) {
      current = line.shift();
      if (current.seen && current.stale) await current.load();
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
      this.seen = false; // on the screen now
      this.stale = true;
      this.seconds = 0; // that it took the last time
      this.loading = null;
    }

    wanted(chosen) {
      this.stale = true;
      if (chosen) this.seconds = 0;
      if (chosen && this.loading) this.loading.abort();
      this.settle();
    }

    shown(seen) {
      this.seen = seen;
      this.settle();
    }

    settle() {
      if (!this.stale || !this.seen || this === current || line.includes(this)) return;
      if (document.getElementById("outline").dataset.complete === "0") {
        this.state.textContent = "There is nothing to draw yet.";
      } else if (this.seconds > SLOW) {
        this.offer();
      } else {
        this.state.textContent = "Computing ...";
        line.push(this);
        next();
      }
    }

    offer() {
      const button = document.createElement("button");
      button.textContent = "Draw again";
      button.addEventListener("click", () => this.wanted(true));
      this.state.replaceChildren("Something has happened since. ", button);
    }

    async load() {
      this.loading = new AbortController();
      this.stale = false;
      this.element.setAttribute("aria-busy", "true");
      try {
        await this.draw(this.loading.signal);
      } catch (trouble) {
        if (trouble.name !== "AbortError") this.fail(trouble.message);
      }
      this.element.removeAttribute("aria-busy");
      this.loading = null;
    }

    async draw(signal) {
      const query = chosen();
      query.set("columns", this.plot.clientWidth < 640 ? 1 : 2);
      const answer = await fetch(`${this.element.dataset.src}?${query}`, { signal });
      if (answer.status === 401) window.location.assign("/login");
      const found = await answer.json();
      if (!answer.ok) throw new Error(found.detail);
      const timing = /dur=(\d+)/.exec(answer.headers.get("server-timing") || "");
      this.seconds = timing ? timing[1] / 1000 : 0;
      const layout = { ...found.figure.layout, uirevision: "kept", autosize: true };
      if (this.plot.clientWidth < 480) narrow({ data: found.figure.data, layout });
      await window.Plotly.react(this.plot, found.figure.data, layout, { responsive: true, displaylogo: false });
      await fit(this.plot);
      this.state.textContent = "";
      delete this.element.dataset.failed;
      this.caption.textContent = found.says;
      this.plot.setAttribute("aria-label", found.says);
      this.element.dataset.drawn = String(Number(this.element.dataset.drawn || 0) + 1);
    }

    fail(message) {
      this.state.textContent = `This figure cannot be drawn: ${message}`;
      this.element.dataset.failed = "";
      window.Plotly.purge(this.plot);
    }
  }

  const figures = [...document.querySelectorAll(".figure")].map((element) => new Figure(element));
  const watcher = new IntersectionObserver(
    (changes) => changes.forEach((each) => figures.find((one) => one.element === each.target).shown(each.isIntersecting)),
    { rootMargin: "200px" },
  );
  figures.forEach((each) => watcher.observe(each.element));

  // The chooser: sliders and their numbers move together, and touching a radius means that one is wanted.
  const parts = () => {
    const objective = chooser.elements.objective.value;
    chooser.querySelectorAll(".part").forEach((part) => {
      part.classList.toggle("unused", part.dataset.for !== objective);
    });
    const distance = chooser.elements.distance;
    document.getElementById("radius-slider").max = distance.selectedOptions[0].dataset.largest;
  };
  const choose = later(() => {
    if (!chooser.reportValidity()) return;
    window.htmx.trigger(recommendation, "refresh");
    figures.forEach((each) => each.wanted(true));
    const report = document.getElementById("report");
    report.search = chosen().toString();
  }, 250);
  if (chooser) {
    chooser.addEventListener("input", (event) => {
      const touched = event.target;
      const part = touched.closest(".part");
      if (part) chooser.elements.objective.value = part.dataset.for;
      if (touched.dataset.number) document.getElementById(touched.dataset.number).value = touched.value;
      const slider = document.getElementById(`${touched.id}-slider`);
      if (slider) slider.value = touched.value;
      parts();
      choose();
    });
    chooser.addEventListener("submit", (event) => event.preventDefault());
    parts();
  }

  // News: what has come in is shown, but nothing that a person is typing is touched.
  const touched = (card) =>
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
        if (newer.dataset.noted === card.dataset.noted || touched(card)) continue;
        card.replaceWith(newer);
        window.htmx.process(newer);
      } else if (!touched(card)) card.remove();
      else if (!card.querySelector(".elsewhere")) {
        const note = document.createElement("p");
        note.className = "note elsewhere";
        note.textContent = "This trial does not wait for its outcome any more: somebody else has told it.";
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
    [...pending.querySelectorAll(".done")].slice(3).forEach((each) => each.remove());
  };

  const look = later(async () => {
    const answer = await fetch(pending.dataset.src, { headers: { "HX-Request": "true" } }).catch(() => null);
    if (!answer || !answer.ok) return;
    const fresh = document.createElement("template");
    fresh.innerHTML = await answer.text();
    merge(fresh.content);
  }, 50);

  const renew = () => {
    if (!recommendation) return;
    const said = recommendation.querySelector(".said");
    if (!said || Number(said.dataset.seconds) <= SLOW) return window.htmx.trigger(recommendation, "refresh");
    if (recommendation.querySelector(".newer")) return;
    const note = document.createElement("p");
    const button = document.createElement("button");
    button.textContent = "Compute again";
    button.addEventListener("click", () => window.htmx.trigger(recommendation, "refresh"));
    note.className = "note newer";
    note.append("Something has happened since. ", button);
    recommendation.prepend(note);
  };

  document.body.addEventListener("news", () => {
    look();
    renew();
    const table = document.getElementById("trials");
    if (table.dataset.page === "1" && !table.contains(document.activeElement)) window.htmx.trigger(table, "refresh");
    figures.forEach((each) => each.wanted(false));
  });

  // Troubles: old messages go before new ones come, and a server that is silent is named.
  document.body.addEventListener("htmx:beforeSwap", (event) => {
    event.detail.target.querySelectorAll(":scope > .mistake").forEach((each) => each.remove());
  });
  document.body.addEventListener("input", (event) => {
    const place = event.target.closest(".card, .next");
    const old = place ? place.querySelectorAll(".mistake") : [];
    old.forEach((each) => each.closest(".card, .next") === place && each.remove());
  });
  const silent = (is) => document.body.classList.toggle("silent", is);
  document.body.addEventListener("htmx:sendError", () => silent(true));
  document.body.addEventListener("htmx:afterOnLoad", () => silent(false));
})();
