"use strict";
// Selecting a cell shows its details and draws its charts; the page's address names the selected cell.
(() => {
  const data = JSON.parse(document.getElementById("longlook-data").textContent);
  const options = {
    mode: "vega-lite",
    renderer: "svg",
    actions: { export: true, source: false, compiled: false, editor: false },
  };
  const drawn = []; // views of the selected cells, by section

  document.documentElement.classList.add("js");

  // Layers without rows are left out: Vega would warn that their scale has no extent.
  function withRows(spec, rows) {
    const filled = { ...spec, datasets: { ...spec.datasets, ...rows } };
    if (!spec.layer) return filled;
    const hasRows = (layer) => !(layer.data?.name in rows) || rows[layer.data.name].length > 0;
    return { ...filled, layer: spec.layer.filter(hasRows) };
  }

  function goodputRows(series) {
    return series.flatMap((trial) =>
      trial.time_s.map((time, index) => ({
        trial: trial.trial,
        colour: trial.colour,
        time_s: time,
        mbps: trial.mbps[index],
      })),
    );
  }

  // A round's effect is in the plot of every setting: the page holds it once.
  function drawnRows(drawn) {
    const rows = {};
    for (const [setting, values] of Object.entries(drawn.settings ?? {})) {
      rows[`points ${setting}`] = values.flatMap((value, index) =>
        drawn.effects[index] === null
          ? []
          : [{ drawn: value, effect: drawn.effects[index], round: drawn.rounds[index] }],
      );
      rows[`fit ${setting}`] = drawn.fits[setting] ?? [];
    }
    return rows;
  }

  async function draw(element, spec) {
    const result = await vegaEmbed(element, spec, options);
    element.dataset.drawn = "true";
    return result;
  }

  async function drawCell(article) {
    const section = article.dataset.section;
    const source = data[section];
    const { drawn: columns, ...rows } = source.cells[article.id];
    if (columns) Object.assign(rows, drawnRows(columns));
    if (rows.goodput) rows.goodput = goodputRows(rows.goodput);
    const results = await Promise.all(
      [...article.querySelectorAll("[data-chart]")].map((element) =>
        draw(element, withRows(source.charts[element.dataset.chart], rows)),
      ),
    );
    drawn.push({ article, results });
  }

  function select(article) {
    const section = article.dataset.section;
    document.querySelectorAll(`.cell.is-selected[data-section="${section}"]`).forEach((old) => {
      if (old !== article) old.classList.remove("is-selected");
    });
    document.querySelectorAll(`:is(.contrast .heatmap, .choices) a[href^="#${section}-"]`).forEach((link) => {
      if (link.hash === `#${article.id}`) link.setAttribute("aria-current", "true");
      else link.removeAttribute("aria-current");
    });
    article.classList.add("is-selected");
    release(article);
    if (!article.querySelector("[data-drawn]")) return drawCell(article);
    return Promise.resolve();
  }

  function release(selected) {
    const section = selected.dataset.section;
    for (let index = drawn.length - 1; index >= 0; index -= 1) {
      const { article, results } = drawn[index];
      if (article === selected || article.dataset.section !== section) continue;
      results.forEach((result) => result.finalize());
      article.querySelectorAll("[data-chart]").forEach((element) => {
        element.replaceChildren();
        delete element.dataset.drawn;
      });
      drawn.splice(index, 1);
    }
  }

  function fromAddress() {
    const target = location.hash && document.getElementById(location.hash.slice(1));
    if (target && target.classList.contains("cell")) return select(target);
    return undefined;
  }

  // Arrow keys move between the cells of a heatmap, as in a spreadsheet.
  function move(event) {
    const steps = { ArrowLeft: [0, -1], ArrowRight: [0, 1], ArrowUp: [-1, 0], ArrowDown: [1, 0] };
    const step = steps[event.key];
    const square = event.target.closest("td");
    if (!step || !square) return;
    const rows = [...square.closest("tbody").rows];
    let row = rows.indexOf(square.parentElement);
    let column = square.cellIndex;
    for (;;) {
      row += step[0];
      column += step[1];
      const next = rows[row]?.cells[column];
      if (!next || next.tagName !== "TD") return;
      const link = next.querySelector("a");
      if (!link) continue;
      event.preventDefault();
      link.focus();
      return;
    }
  }

  async function start() {
    const first = [...document.querySelectorAll(".details")].map((box) => box.querySelector(".cell"));
    await Promise.all(first.map(select));
    await fromAddress();
    await Promise.all(
      [...document.querySelectorAll("[data-overview]")].map((element) =>
        draw(element, data[element.dataset.section].specs[element.dataset.overview]),
      ),
    );
    document.documentElement.dataset.ready = "true";
  }

  // Opened from disk, the page knows its run folder, which commands name.
  if (location.protocol === "file:") {
    const up = 2 + Number(document.body.dataset.up); // folders from the page to the run
    const run = decodeURIComponent(location.pathname).split("/").slice(0, -up).join("/");
    const quoted = /^[\w./+-]+$/.test(run) ? run : `'${run.replaceAll("'", "'\\''")}'`;
    document.querySelectorAll("[data-run]").forEach((place) => { place.textContent = quoted; });
  }

  document.querySelectorAll(".heatmap").forEach((table) => table.addEventListener("keydown", move));
  window.addEventListener("hashchange", fromAddress);
  start();
})();
