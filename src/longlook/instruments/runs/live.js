"use strict";
// Asks for the state of the run, and for the heatmaps when there are new ones.
(() => {
  const every = 2000, part = (id) => document.getElementById(id);
  let drawn = 0;

  async function look() {
    const state = await (await fetch("state.json")).json();
    part("bar").max = Math.max(1, state.planned || 0);
    part("bar").value = state.finished;
    part("count").textContent = state.text;
    part("left").textContent = state.left;
    if (state.maps > drawn) {
      // The server escapes every label; it is the same HTML as the report's.
      part("maps").innerHTML = await (await fetch("maps.html")).text();
      drawn = state.maps;
    }
    if (state.ended) part("caution").textContent = state.after;
    return state.ended;
  }

  async function follow() {
    let ended = false;
    try {
      ended = await look();
    } catch {
      part("left").textContent = "longlook watch has ended, or cannot be reached";
    }
    if (!ended) setTimeout(follow, every);
  }

  follow();
})();
