// The figure's view and controls: one span of time for all panels, moved by mouse, touch and keyboard.
const figure = document.querySelector(".timeline");
const source = JSON.parse(document.getElementById("inside-data").textContent);
const status = figure.querySelector(".span");
const cursorLine = figure.querySelector(".cursor");
const selection = figure.querySelector(".selection");
const overview = figure.querySelector(".overview canvas");
const SHORTEST_S = 0.002;

async function start() {
  const arms = readArms(source.arms, await unpacked(source.blob));
  const whole = { from: 0, to: source.end };
  let view = fromAddress() ?? { ...whole };
  let cursor = null;
  let waiting = false;
  for (const arm of arms) arm.hidden = !figure.querySelector(`[data-toggle="${CSS.escape(arm.name)}"]`).checked;
  const shown = () => arms.filter((arm) => !arm.hidden);
  const span = () => view.to - view.from;
  const inner = () => Math.max(1, overview.clientWidth - GUTTER - RIGHT);
  const small = source.panels.find((panel) => panel.name === "window" && arms.some((arm) => arm.series.cwnd))
    ?? source.panels.find((panel) => panel.lines[0].style === "rate") ?? source.panels[0];

  function fromAddress() {
    const found = /t=([\d.]+)-([\d.]+)/.exec(location.hash);
    if (!found) return null;
    const [from, to] = [Number(found[1]), Number(found[2])];
    return to > from ? limited(from, to) : null;
  }

  function limited(from, to) {
    const length = Math.min(Math.max(to - from, SHORTEST_S), source.end);
    const start = Math.min(Math.max(0, from), source.end - length);
    return { from: start, to: start + length };
  }

  function show(from, to) {
    view = limited(from, to);
    redraw();
  }

  function zoom(factor, around) {
    const middle = around ?? (cursor !== null && cursor >= view.from && cursor <= view.to ? cursor : (view.from + view.to) / 2);
    const length = Math.min(Math.max(span() * factor, SHORTEST_S), source.end);
    const share = (middle - view.from) / span();
    show(middle - share * length, middle + (1 - share) * length);
  }

  const pan = (seconds) => show(view.from + seconds, view.to + seconds);

  function redraw() {
    if (waiting) return;
    waiting = true;
    requestAnimationFrame(() => {
      waiting = false;
      draw();
    });
  }

  function draw() {
    const began = performance.now();
    const visible = shown();
    const shared = { bin: binOf(view, arms, source.shortest_bin) };
    for (const panel of source.panels) {
      drawPanel(figure.querySelector(`[data-panel="${panel.name}"] canvas`), panel, visible, view, shared);
    }
    for (const arm of arms) {
      const box = figure.querySelector(`[data-arm="${CSS.escape(arm.name)}"].tracks`);
      box.hidden = Boolean(arm.hidden);
      if (!arm.hidden) drawTracks(box.querySelector("canvas"), source.tracks, arm, view, source.band_colours);
    }
    drawOverview(overview, small, visible, whole, view, { bin: binOf(whole, arms, source.shortest_bin) });
    const bin = figure.querySelector(".bin");
    if (bin) bin.textContent = `means over ${shared.bin < 1 ? `${shared.bin * 1000}\u00a0ms` : `${shared.bin}\u00a0s`}`;
    const step = stepOf(span(), 100);
    status.textContent = `${clock(view.from, step)} – ${clock(view.to, step)}`;
    figure.dataset.from = view.from;
    figure.dataset.to = view.to;
    showCursor();
    figure.dataset.drawMs = (performance.now() - began).toFixed(1);
    clearTimeout(draw.later);
    draw.later = setTimeout(remember, 300);
  }

  function remember() {
    const all = span() >= source.end * 0.9999;
    const hash = all ? "" : `#t=${view.from.toFixed(6)}-${view.to.toFixed(6)}`;
    if (location.hash !== hash) history.replaceState(null, "", hash || location.pathname + location.search);
  }

  function bandAt(bands, time) {
    const place = after(bands.t, time) - 1;
    if (place < 0 || time >= bands.t[place] + bands.length[place]) return null;
    return bands.kinds[bands.which[place]];
  }

  function showCursor() {
    const inside = cursor !== null && cursor >= view.from && cursor <= view.to;
    cursorLine.hidden = !inside;
    if (inside) cursorLine.style.left = `${GUTTER + ((cursor - view.from) / span()) * inner()}px`;
    figure.querySelector(".at").textContent = inside ? `at ${clock(cursor, span() / inner())}` : "";
    const bin = binOf(view, arms, source.shortest_bin);
    for (const panel of source.panels) {
      for (const arm of arms) {
        const place = figure.querySelector(`[data-panel="${panel.name}"] [data-read="${CSS.escape(arm.name)}"]`);
        place.hidden = Boolean(arm.hidden);
        const texts = panel.lines.flatMap((line) => {
          const series = arm.series[line.series];
          if (!inside || !series || cursor > arm.duration) return [];
          if (line.style !== "rate") return [quantity(valueAt(series, cursor), panel.unit)];
          const [value] = rates(series, Math.floor(cursor / bin) * bin, cursor, bin, arm.duration).v;
          return [quantity(value, panel.unit)];
        });
        place.querySelector("b").textContent = texts.join(" · ");
      }
    }
    for (const arm of arms) {
      const place = figure.querySelector(`[data-arm="${CSS.escape(arm.name)}"].tracks .now`);
      const at = (name) => (inside && arm.bands[name] ? bandAt(arm.bands[name], cursor) : null);
      const [time, state] = [at("ledger"), at("state")];
      const texts = time ? [time[0].replaceAll("_", " ")] : [];
      if (state) texts.push(`${state[0].replaceAll("_", " ")} (${state[1] === "derived" ? "derived" : "logged"})`);
      place.textContent = texts.join(" · ");
    }
  }

  const timeOf = (event) => {
    const box = overview.getBoundingClientRect();
    return view.from + ((event.clientX - box.left - GUTTER) / inner()) * span();
  };
  const clamp = (time) => Math.min(Math.max(time, view.from), view.to);

  // Mouse: a drag selects what to zoom to, with Shift it moves. Touch: one finger moves, two zoom.
  const stage = figure.querySelector(".stage");
  const fingers = new Map();
  let drag = null;

  stage.addEventListener("pointerdown", (event) => {
    if (event.button !== 0 || event.target.closest("button, a, label")) return;
    figure.focus({ preventScroll: true });
    fingers.set(event.pointerId, event.clientX);
    const moves = event.pointerType === "touch" || event.shiftKey;
    if (fingers.size === 1) drag = { kind: moves ? "move" : "select", x: event.clientX, time: timeOf(event), view };
    else drag = { kind: "pinch", view, times: [...fingers.values()].map((x) => timeOf({ clientX: x })) };
    try { stage.setPointerCapture(event.pointerId); } catch { /* a pointer that has gone again */ }
  });

  stage.addEventListener("pointermove", (event) => {
    if (fingers.has(event.pointerId)) fingers.set(event.pointerId, event.clientX);
    if (drag?.kind === "select") {
      const width = Math.abs(event.clientX - drag.x);
      const box = stage.getBoundingClientRect();
      const places = [clamp(drag.time), clamp(timeOf(event))].sort((a, b) => a - b).map((time) => GUTTER + ((time - view.from) / span()) * inner());
      selection.hidden = width < 4;
      selection.style.left = `${places[0]}px`;
      selection.style.width = `${places[1] - places[0]}px`;
      selection.style.height = `${box.height}px`;
    } else if (drag?.kind === "move") {
      const seconds = ((drag.x - event.clientX) / inner()) * (drag.view.to - drag.view.from);
      show(drag.view.from + seconds, drag.view.to + seconds);
    } else if (drag?.kind === "pinch" && fingers.size === 2) {
      const box = overview.getBoundingClientRect();
      const shares = [...fingers.values()].map((x) => (x - box.left - GUTTER) / inner());
      const length = (drag.times[1] - drag.times[0]) / (shares[1] - shares[0]);
      if (Number.isFinite(length) && length > 0) show(drag.times[0] - shares[0] * length, drag.times[0] + (1 - shares[0]) * length);
    }
    if (event.pointerType !== "touch" || drag?.kind !== "pinch") {
      cursor = clamp(timeOf(event));
      showCursor();
    }
  });

  function release(event) {
    fingers.delete(event.pointerId);
    if (drag?.kind === "select" && event.type === "pointerup") {
      const [from, to] = [clamp(drag.time), clamp(timeOf(event))].sort((a, b) => a - b);
      if (Math.abs(event.clientX - drag.x) >= 4) show(from, to);
    }
    selection.hidden = true;
    drag = null;
  }
  stage.addEventListener("pointerup", release);
  stage.addEventListener("pointercancel", release);
  stage.addEventListener("dblclick", () => show(0, source.end));
  stage.addEventListener("pointerleave", (event) => {
    if (event.pointerType === "touch" || drag) return;
    cursor = null;
    showCursor();
  });

  // The wheel scrolls the page; with Ctrl (as a pinch on a touchpad gives it) it zooms, sideways it moves.
  stage.addEventListener("wheel", (event) => {
    const sideways = event.shiftKey ? event.deltaY || event.deltaX : event.deltaX;
    if (event.ctrlKey || event.metaKey) zoom(Math.exp(event.deltaY * 0.004), clamp(timeOf(event)));
    else if (Math.abs(sideways) > Math.abs(event.shiftKey ? 0 : event.deltaY)) pan((sideways / inner()) * span());
    else return;
    event.preventDefault();
  }, { passive: false });

  figure.addEventListener("keydown", (event) => {
    if (event.target !== figure || event.ctrlKey || event.metaKey || event.altKey) return;
    const nudge = (pixels) => {
      cursor = clamp((cursor ?? (view.from + view.to) / 2) + (pixels / inner()) * span());
      showCursor();
    };
    const actions = {
      "+": () => zoom(0.5), "=": () => zoom(0.5), "-": () => zoom(2), 0: () => show(0, source.end),
      ArrowLeft: () => (event.shiftKey ? nudge(-8) : pan(-span() / 8)),
      ArrowRight: () => (event.shiftKey ? nudge(8) : pan(span() / 8)),
      Home: () => pan(-source.end), End: () => pan(source.end), ",": () => nudge(-1), ".": () => nudge(1),
      Escape: () => show(0, source.end),
    };
    if (!actions[event.key]) return;
    event.preventDefault();
    actions[event.key]();
  });

  figure.querySelectorAll("[data-do]").forEach((button) => button.addEventListener("click", () => ({
    in: () => zoom(0.5), out: () => zoom(2), left: () => pan(-span() / 4), right: () => pan(span() / 4), all: () => show(0, source.end),
  })[button.dataset.do]()));

  figure.querySelectorAll("[data-toggle]").forEach((box) => box.addEventListener("change", () => {
    const arm = arms.find((candidate) => candidate.name === box.dataset.toggle);
    arm.hidden = !box.checked;
    redraw();
  }));

  // The overview: drag an edge to widen, the middle to move, anywhere else to go there.
  let held = null;
  const wholeTime = (event) => ((event.clientX - overview.getBoundingClientRect().left - GUTTER) / inner()) * source.end;
  overview.addEventListener("pointerdown", (event) => {
    const time = wholeTime(event);
    const near = (8 / inner()) * source.end;
    if (Math.abs(time - view.from) < near) held = { edge: "from" };
    else if (Math.abs(time - view.to) < near) held = { edge: "to" };
    else {
      if (time < view.from || time > view.to) show(time - span() / 2, time + span() / 2);
      held = { edge: null, time, view };
    }
    overview.setPointerCapture(event.pointerId);
  });
  overview.addEventListener("pointermove", (event) => {
    if (!held) return;
    const time = wholeTime(event);
    if (held.edge === "from") show(Math.min(Math.max(0, time), view.to - SHORTEST_S), view.to);
    else if (held.edge === "to") show(view.from, Math.max(Math.min(source.end, time), view.from + SHORTEST_S));
    else show(held.view.from + time - held.time, held.view.to + time - held.time);
  });
  overview.addEventListener("pointerup", () => { held = null; });
  overview.addEventListener("pointercancel", () => { held = null; });

  window.addEventListener("hashchange", () => {
    view = fromAddress() ?? { ...whole };
    redraw();
  });
  new ResizeObserver(redraw).observe(stage);
  draw();
  figure.dataset.values = arms.reduce((sum, arm) => sum + Object.values(arm.series).reduce((one, series) => one + series.n, 0), 0);
  document.documentElement.dataset.ready = "true";
}

start();
