"use strict";
// The filter shows claims by result and study, and keeps its choice in the page's address; charts are drawn once.
(() => {
  const charts = JSON.parse(document.getElementById("longlook-data").textContent);
  const form = document.querySelector(".filter");
  const rows = [...document.querySelectorAll("[data-result]")];
  const studies = [...document.querySelectorAll(".of-study")];
  const notRun = document.getElementById("not-run");
  document.documentElement.classList.add("js");

  const chosen = () => new Set([...form.querySelectorAll("[name=result]:checked")].map((box) => box.value));

  function filter() {
    const results = chosen();
    const study = form.elements.study.value;
    let visible = 0;
    rows.forEach((row) => {
      const fits = (!results.size || results.has(row.dataset.result)) && (!study || row.dataset.study === study);
      row.hidden = !fits;
      visible += fits;
    });
    studies.forEach((section) => {
      section.hidden = !section.querySelector("[data-result]:not([hidden])");
      const fold = section.querySelector("details");
      if (fold) fold.open = study === section.dataset.study;
    });
    if (notRun) notRun.hidden = !notRun.querySelector(".of-study:not([hidden])");
    form.querySelector("output").textContent =
      visible === rows.length ? `all ${rows.length} claims` : `${visible} of ${rows.length} claims`;
  }

  function remember() {
    const parts = [...chosen()].map((result) => `result=${encodeURIComponent(result)}`);
    if (form.elements.study.value) parts.push(`study=${encodeURIComponent(form.elements.study.value)}`);
    history.replaceState(null, "", parts.length ? `#${parts.join("&")}` : location.pathname + location.search);
  }

  const chooses = () => location.hash.includes("=");
  const toClaims = (behavior) => document.getElementById("claims").scrollIntoView({ behavior });

  function fromAddress() {
    if (!chooses()) return;
    const wanted = new URLSearchParams(location.hash.slice(1));
    const results = wanted.getAll("result");
    form.querySelectorAll("[name=result]").forEach((box) => { box.checked = results.includes(box.value); });
    const known = [...form.elements.study.options].map((option) => option.value);
    form.elements.study.value = known.includes(wanted.get("study")) ? wanted.get("study") : "";
    filter();
  }

  async function start() {
    const options = { mode: "vega-lite", renderer: "svg", actions: { export: true, source: false, compiled: false, editor: false } };
    filter();
    fromAddress();
    await Promise.all(
      [...document.querySelectorAll("[data-chart]")].map((place) =>
        vegaEmbed(place, charts[place.dataset.chart], options),
      ),
    );
    if (chooses()) toClaims("instant"); // only now lies everything where it stays
    document.documentElement.dataset.ready = "true";
  }

  form.addEventListener("change", () => { filter(); remember(); });
  form.addEventListener("submit", (event) => event.preventDefault());
  window.addEventListener("hashchange", () => {
    fromAddress();
    if (chooses()) toClaims("smooth");
  });
  start();
})();
