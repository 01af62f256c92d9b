// Drawing on canvases: panels of series, tracks of states and marks, and the overview.
const GUTTER = 62;
const RIGHT = 10;
const AXIS = 18;
const INK = "#1c1b1a";
const SOFT = "#5f5c57";
const GRID = "#eeece8";
const RULE = "#d9d6d0";
const FONT = "11px system-ui, -apple-system, 'Segoe UI', Roboto, 'Helvetica Neue', Arial, 'Liberation Sans', sans-serif";
const BINS = [0.001, 0.002, 0.005, 0.01, 0.02, 0.05, 0.1, 0.2, 0.5, 1, 2, 5, 10, 20, 50, 100];

function prepared(canvas, height) {
  const ratio = window.devicePixelRatio || 1;
  const width = canvas.clientWidth;
  canvas.width = Math.round(width * ratio);
  canvas.height = Math.round(height * ratio);
  canvas.style.height = `${height}px`;
  const context = canvas.getContext("2d");
  context.setTransform(ratio, 0, 0, ratio, 0, 0);
  context.clearRect(0, 0, width, height);
  context.font = FONT;
  return { context, width, inner: Math.max(1, width - GUTTER - RIGHT) };
}

// Round steps: 1, 2 or 5 times a power of ten.
function stepOf(span, wanted) {
  const rough = span / Math.max(1, wanted);
  const power = 10 ** Math.floor(Math.log10(rough));
  const factor = [1, 2, 5, 10].find((candidate) => candidate * power >= rough * 0.999);
  return factor * power;
}

function ticks(from, to, wanted) {
  const step = stepOf(to - from, wanted);
  const found = [];
  for (let k = Math.ceil(from / step - 1e-9); k * step <= to + step * 1e-9; k += 1) found.push(k * step);
  return { step, found };
}

const PREFIXES = [[1e9, "G"], [1e6, "M"], [1e3, "k"], [1, ""]];

function scaleOf(unit, largest) {
  if (unit === "us") return largest >= 1e6 ? [1e6, "s"] : largest >= 1000 ? [1e3, "ms"] : [1, "µs"];
  const [factor, prefix] = PREFIXES.find(([candidate]) => largest >= candidate) ?? [1, ""];
  return [factor, unit === "bytes" ? `${prefix === "k" ? "K" : prefix}B` : `${prefix}bit/s`];
}

function quantity(value, unit) {
  if (value === null || value === undefined) return "–";
  const [factor, name] = scaleOf(unit, Math.abs(value));
  const scaled = value / factor;
  const digits = scaled === 0 || Math.abs(scaled) >= 100 || name === "B" ? 0 : Math.abs(scaled) >= 10 ? 1 : 2;
  return `${scaled.toFixed(digits)}\u00a0${name}`;
}

// A time, with enough digits for steps of `step` seconds.
function clock(seconds, step) {
  if (Math.abs(seconds) < 1e-9) return "0";
  const digits = Math.max(0, Math.min(6, -Math.floor(Math.log10(step) + 1e-9)));
  return `${seconds.toFixed(digits).replace("-", "−")}\u00a0s`;
}

function timeGrid(context, view, inner, top, bottom, labelled) {
  const { step, found } = ticks(view.from, view.to, Math.max(2, inner / 110));
  context.lineWidth = 1;
  context.textBaseline = "top";
  for (const time of found) {
    const x = Math.round(GUTTER + ((time - view.from) / (view.to - view.from)) * inner) + 0.5;
    context.strokeStyle = GRID;
    context.beginPath();
    context.moveTo(x, top);
    context.lineTo(x, bottom);
    context.stroke();
    if (labelled) {
      context.fillStyle = SOFT;
      context.textAlign = x > GUTTER + inner - 20 ? "right" : x < GUTTER + 12 ? "left" : "center";
      context.fillText(clock(time, step), x, bottom + 4);
    }
  }
}

function binOf(view, arms, shortest) {
  const coarsest = Math.max(...arms.map((arm) => arm.series.passed?.bucket ?? 0));
  const least = Math.max((view.to - view.from) / 220, shortest, 2 * coarsest);
  return BINS.find((bin) => bin >= least) ?? BINS.at(-1);
}

// What a line of a panel shows of an arm in the view: columns of pixels, or bins of a rate.
function contents(line, arm, view, inner, shared) {
  const series = arm.series[line.series];
  if (!series || series.n === 0) return null;
  const to = Math.min(view.to, Math.max(arm.duration, 0));
  if (line.style !== "rate") return columns(series, view.from, view.to, inner);
  const bins = rates(series, view.from, to, shared.bin, arm.duration);
  const scale = inner / (view.to - view.from);
  const x = bins.t.map((time) => (time - view.from) * scale);
  return { x, first: bins.v, least: bins.v, most: bins.v, last: bins.v, count: x.map(() => 1), before: null };
}

function extent(found) {
  let least = Infinity;
  let most = -Infinity;
  for (const part of found) {
    for (const value of part.least) if (value < least) least = value;
    for (const value of part.most) if (value > most) most = value;
    if (part.before !== null) {
      least = Math.min(least, part.before);
      most = Math.max(most, part.before);
    }
  }
  return least <= most ? [least, most] : [0, 1];
}

function tracePath(context, part, x, y, right) {
  context.beginPath();
  let level = part.before;
  if (level !== null) context.moveTo(x(0), y(level));
  for (let i = 0; i < part.x.length; i += 1) {
    const here = x(part.x[i]);
    if (level === null) context.moveTo(here, y(part.first[i]));
    else {
      context.lineTo(here, y(level));
      context.lineTo(here, y(part.first[i]));
    }
    if (part.count[i] > 1) {
      context.lineTo(here, y(part.least[i]));
      context.lineTo(here, y(part.most[i]));
      context.lineTo(here, y(part.last[i]));
    }
    level = part.last[i];
  }
  if (level !== null) context.lineTo(right, y(level));
  context.stroke();
}

function tracePoints(context, part, x, y) {
  const sparse = part.x.length < 120;
  for (let i = 0; i < part.x.length; i += 1) {
    const top = y(part.most[i]);
    const height = y(part.least[i]) - top;
    if (sparse && part.count[i] === 1) context.fillRect(x(part.x[i]) - 1.5, top - 1.5, 3, 3);
    else context.fillRect(x(part.x[i]) - 0.75, top - 0.75, 1.5, height + 1.5);
  }
}

const STYLES = {
  step: { width: 1.6, dash: [], alpha: 1 },
  thin: { width: 1.1, dash: [], alpha: 0.85 },
  rate: { width: 1.4, dash: [], alpha: 1 },
  dash: { width: 1.2, dash: [4, 3], alpha: 0.75 },
};

function drawPanel(canvas, panel, arms, view, shared) {
  const height = panel.height;
  const { context, width, inner } = prepared(canvas, height);
  const top = 8;
  const bottom = height - AXIS;
  const parts = arms.flatMap((arm) =>
    panel.lines.map((line) => ({ arm, line, part: contents(line, arm, view, inner, shared) })),
  ).filter(({ part }) => part !== null);
  const [least, most] = extent(parts.map(({ part }) => part));
  const floor = ["rtt", "bytes"].includes(panel.name) && least > 0.25 * most ? least - (most - least) * 0.06 : 0;
  const ceiling = most > floor ? most + (most - floor) * 0.06 : floor + 1;
  const y = (value) => bottom - ((value - floor) / (ceiling - floor)) * (bottom - top);
  const x = (pixels) => GUTTER + pixels;
  timeGrid(context, view, inner, top, bottom, true);
  const [factor, name] = scaleOf(panel.unit, most);
  const { step, found } = ticks(floor / factor, ceiling / factor, (bottom - top) / 28);
  context.textAlign = "right";
  context.textBaseline = "middle";
  for (const value of found) {
    const place = Math.round(y(value * factor)) + 0.5;
    context.strokeStyle = GRID;
    context.lineWidth = 1;
    context.beginPath();
    context.moveTo(GUTTER, place);
    context.lineTo(width - RIGHT, place);
    context.stroke();
    context.fillStyle = SOFT;
    const digits = Math.max(0, -Math.floor(Math.log10(step) + 1e-9));
    context.fillText(value === 0 ? "0" : `${value.toFixed(digits)}\u00a0${name}`, GUTTER - 7, place);
  }
  context.strokeStyle = RULE;
  context.strokeRect(GUTTER + 0.5, top + 0.5, inner - 1, bottom - top - 1);
  context.save();
  context.beginPath();
  context.rect(GUTTER, top - 1, inner, bottom - top + 2);
  context.clip();
  context.lineJoin = "round";
  const order = { points: 0, dash: 1, thin: 2, rate: 2, step: 3 };
  parts.sort((a, b) => order[a.line.style] - order[b.line.style]);
  for (const { arm, line, part } of parts) {
    const right = x(Math.min(inner, ((arm.duration - view.from) / (view.to - view.from)) * inner));
    if (line.style === "points") {
      context.globalAlpha = 0.32;
      context.fillStyle = arm.colour;
      tracePoints(context, part, x, y);
    } else {
      const style = STYLES[line.style];
      context.globalAlpha = style.alpha;
      context.strokeStyle = arm.colour;
      context.lineWidth = style.width;
      context.setLineDash(style.dash);
      tracePath(context, part, x, y, right);
    }
  }
  context.restore();
}

// Shares of each pixel column that bands of each kind take: where states change faster than a pixel, all show.
function drawBands(context, bands, view, inner, top, height, colourOf) {
  const scale = inner / (view.to - view.from);
  const share = bands.kinds.map(() => new Float32Array(Math.ceil(inner) + 1));
  let i = Math.max(0, after(bands.t, view.from) - 1);
  for (; i < bands.n && bands.t[i] < view.to; i += 1) {
    const start = Math.max(0, (bands.t[i] - view.from) * scale);
    const end = Math.min(inner, (bands.t[i] + bands.length[i] - view.from) * scale);
    const into = share[bands.which[i]];
    for (let column = Math.floor(start); column < end; column += 1) {
      into[column] += Math.min(end, column + 1) - Math.max(start, column);
    }
  }
  for (let column = 0; column < inner; column += 1) {
    let y = top + height;
    const total = share.reduce((sum, part) => sum + part[column], 0);
    if (total === 0) continue;
    for (let kind = 0; kind < bands.kinds.length; kind += 1) {
      const part = (share[kind][column] / Math.max(1, total)) * height;
      if (part === 0) continue;
      context.fillStyle = colourOf(bands.kinds[kind][0]);
      context.fillRect(GUTTER + column, y - part, 1, part);
      y -= part;
    }
  }
}

function drawMarks(context, marks, view, inner, top, height, colour) {
  const scale = inner / (view.to - view.from);
  const counts = new Float64Array(Math.ceil(inner) + 1);
  for (let i = after(marks.t, view.from); i < marks.n && marks.t[i] <= view.to; i += 1) {
    counts[Math.floor((marks.t[i] - view.from) * scale)] += marks.w[i];
  }
  const most = Math.max(1, ...counts);
  context.fillStyle = colour;
  for (let column = 0; column < inner; column += 1) {
    if (counts[column] === 0) continue;
    const tall = most > 1 ? 0.35 + 0.65 * (Math.log(counts[column]) / Math.log(most)) : 1;
    context.fillRect(GUTTER + column - 0.25, top + height * (1 - tall), 1.5, height * tall);
  }
}

const TRACK_HEIGHTS = { ledger: 18, state: 18, app_limited: 8 };
const MARK_COLOURS = { dropped: INK, declared: "#a1340f", spurious: "#c98500", probes: "#6b4fa0", blocked: "#23764b" };

function drawTracks(canvas, tracks, arm, view, bandColours) {
  const present = tracks.filter(([name]) => arm.bands[name] || arm.marks[name]);
  const heights = present.map(([name]) => TRACK_HEIGHTS[name] ?? 12);
  const height = heights.reduce((sum, one) => sum + one + 4, 4);
  const { context, inner } = prepared(canvas, height);
  let top = 2;
  present.forEach(([name, label], index) => {
    const tall = heights[index];
    context.fillStyle = "#faf9f7";
    context.fillRect(GUTTER, top, inner, tall);
    context.fillStyle = SOFT;
    context.textAlign = "right";
    context.textBaseline = "middle";
    context.fillText(label, GUTTER - 7, top + tall / 2 + 0.5);
    const colourOf = (kind) => bandColours[name]?.[kind] ?? "#8d8881";
    if (arm.bands[name]) drawBands(context, arm.bands[name], view, inner, top, tall, colourOf);
    else drawMarks(context, arm.marks[name], view, inner, top, tall, MARK_COLOURS[name]);
    top += tall + 4;
  });
}

// The whole load in small, the part that is shown left white.
function drawOverview(canvas, panel, arms, whole, view, shared) {
  const height = 46;
  const { context, inner } = prepared(canvas, height);
  const place = (time) => GUTTER + ((time - whole.from) / (whole.to - whole.from)) * inner;
  const parts = arms.flatMap((arm) => {
    const part = contents(panel.lines[0], arm, whole, inner, shared);
    return part ? [{ arm, part }] : [];
  });
  const [, most] = extent(parts.map(({ part }) => part));
  const y = (value) => height - 3 - (value / (most || 1)) * (height - 6);
  for (const { arm, part } of parts) {
    context.strokeStyle = arm.colour;
    context.lineWidth = 1;
    context.globalAlpha = 0.8;
    tracePath(context, part, (pixels) => GUTTER + pixels, y, place(arm.duration));
  }
  context.globalAlpha = 1;
  const [left, right] = [place(view.from), place(view.to)];
  context.fillStyle = "rgb(95 92 87 / 16%)";
  context.fillRect(GUTTER, 0, left - GUTTER, height);
  context.fillRect(right, 0, GUTTER + inner - right, height);
  context.strokeStyle = SOFT;
  context.lineWidth = 1;
  context.strokeRect(left + 0.5, 0.5, Math.max(2, right - left - 1), height - 1);
  context.fillStyle = SOFT;
  for (const edge of [left, right]) context.fillRect(edge - 1.5, height / 2 - 8, 3, 16);
}
