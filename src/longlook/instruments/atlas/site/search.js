"use strict";
// The search of the alphabetical page: whole words; every word has to be in one part of a page. Without this script the
// page is complete, and nothing is hidden.
(() => {
  const index = JSON.parse(document.getElementById("search-index").textContent);
  const box = document.querySelector(".search input[name=q]");
  const output = document.querySelector(".search output");
  const items = new Map([...document.querySelectorAll("[data-address]")].map((item) => [item.dataset.address, item]));
  const places = new Map(index.words.map((word, place) => [word, place]));

  function words(text) {
    let plain = text.normalize("NFC").toLowerCase();
    for (const [pattern, instead] of index.replaced) plain = plain.replace(new RegExp(pattern, "g"), instead);
    return [...new Set((plain.match(new RegExp(index.word, "g")) || []).map((word) => word.replace(" ", "")))];
  }

  function has(numbers, place) {
    let low = 0;
    let high = numbers.length - 1;
    while (low <= high) {
      const middle = (low + high) >> 1;
      if (numbers[middle] === place) return true;
      if (numbers[middle] < place) low = middle + 1;
      else high = middle - 1;
    }
    return false;
  }

  function show() {
    const wanted = words(box.value).map((word) => (places.has(word) ? places.get(word) : -1));
    let found = 0;
    for (const [address, parts] of index.pages) {
      const hits = parts.filter(([, numbers]) => wanted.every((place) => has(numbers, place)));
      const item = items.get(address);
      item.hidden = Boolean(wanted.length) && !hits.length;
      found += !item.hidden;
    }
    document.querySelectorAll(".letter").forEach((letter) => {
      letter.hidden = !letter.querySelector("[data-address]:not([hidden])");
    });
    output.textContent = wanted.length ? `${found} of ${index.pages.length} pages have these words` : "";
  }

  box.value = new URLSearchParams(location.search).get("q") || "";
  box.addEventListener("input", () => {
    const address = new URL(location.href);
    if (box.value.trim()) address.searchParams.set("q", box.value.trim());
    else address.searchParams.delete("q");
    history.replaceState(null, "", address);
    show();
  });
  show();
  document.documentElement.dataset.ready = "true";
})();
