"use strict";
// The search: words and results choose studies, claims, squares and disputes; the choice stays in the page's address.
(() => {
  const form = document.querySelector(".finder");
  const box = form.elements.q;
  const output = form.querySelector("output");
  const results = () => [...form.querySelectorAll("[name=result]:checked")].map((input) => input.value);
  document.documentElement.classList.add("js");

  // One entry for each study and dispute. Texts are collected at the first search, not when the page opens.
  let index = null;
  const lower = (text) => text.toLowerCase().replace(/[\u00a0\u202f]/g, " ").replace(/\u2212/g, "-");
  function collect() {
    index = [...document.querySelectorAll(".entry")].map((entry) => {
      const paper = entry.closest(".paper");
      const cited = paper ? paper.querySelector("h2").textContent + " " + paper.querySelector(".lead").textContent : "";
      const rows = [...entry.querySelectorAll("tr[data-result]")].map((row) => ({
        row, result: row.dataset.result, text: lower(row.textContent),
      }));
      const cells = [...entry.querySelectorAll("td[data-cell]")].map((cell) => ({
        cell, result: cell.dataset.cell, text: lower(cell.title),
      }));
      const own = entry.cloneNode(true);
      own.querySelectorAll("tr[data-result], .grid").forEach((part) => part.remove());
      return { entry, rows, cells, fold: entry.querySelector("details.claims"), text: lower(own.textContent + " " + cited) };
    });
  }

  function show() {
    const words = lower(box.value).split(/\s+/).filter(Boolean);
    const wanted = new Set(results());
    const searching = words.length || wanted.size;
    if (!index) {
      if (!searching) { output.textContent = ""; return; }
      collect();
    }
    let studies = 0;
    let claims = 0;
    for (const { entry, rows, cells, fold, text } of index) {
      const left = words.filter((word) => !text.includes(word)); // the words that its claims must have
      let found = 0;
      for (const item of rows) {
        const fits = (!wanted.size || wanted.has(item.result)) && left.every((word) => item.text.includes(word));
        item.row.hidden = !fits;
        found += fits;
      }
      for (const item of cells) {
        const fits = (!wanted.size || wanted.has(item.result)) && left.every((word) => item.text.includes(word));
        item.cell.classList.toggle("faded", !fits);
      }
      const fits = found > 0 || (!wanted.size && !left.length);
      entry.hidden = !fits;
      if (fold && searching) fold.open = found > 0 && found < rows.length;
      studies += fits && entry.classList.contains("study");
      claims += fits ? found : 0;
    }
    document.querySelectorAll(".paper, #disputes").forEach((section) => {
      section.hidden = !section.querySelector(".entry:not([hidden])");
    });
    document.getElementById("overview").hidden = Boolean(searching);
    output.textContent = searching ? `${claims} claims in ${studies} ${studies === 1 ? "study" : "studies"}` : "";
  }

  function remember() {
    const parts = results().map((result) => `result=${encodeURIComponent(result)}`);
    if (box.value.trim()) parts.unshift(`q=${encodeURIComponent(box.value.trim())}`);
    history.replaceState(null, "", parts.length ? `#${parts.join("&")}` : location.pathname + location.search);
  }

  function fromAddress() {
    const chooses = location.hash.includes("=");
    if (!chooses && !index) {
      goTo();
      return;
    }
    const wanted = new URLSearchParams(chooses ? location.hash.slice(1) : "");
    box.value = wanted.get("q") || "";
    form.querySelectorAll("[name=result]").forEach((input) => { input.checked = wanted.getAll("result").includes(input.value); });
    show();
    if (!chooses) goTo();
  }

  // Heights of what was never near the window are guesses, so a place is gone to until it stays where it is.
  async function goTo() {
    if (!location.hash || location.hash.includes("=")) return;
    const target = document.getElementById(decodeURIComponent(location.hash.slice(1)));
    const frame = () => new Promise(requestAnimationFrame);
    for (let tries = 0, before = null; target && tries < 20; tries += 1) {
      target.scrollIntoView({ behavior: "instant" });
      await frame();
      const top = Math.round(target.getBoundingClientRect().top);
      if (top === before) return;
      before = top;
    }
  }

  let waiting = 0;
  const soon = () => { clearTimeout(waiting); waiting = setTimeout(() => { show(); remember(); }, 120); };
  box.addEventListener("input", soon);
  form.addEventListener("change", () => { show(); remember(); });
  form.addEventListener("submit", (event) => { event.preventDefault(); show(); remember(); });
  window.addEventListener("hashchange", fromAddress);
  fromAddress();
  document.documentElement.dataset.ready = "true";
})();
