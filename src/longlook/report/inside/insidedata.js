// Numbers of the page: see report/inside/data.py for how they were packed.
async function unpacked(text) {
  const bytes = Uint8Array.from(atob(text), (letter) => letter.charCodeAt(0));
  const stream = new Blob([bytes]).stream().pipeThrough(new DecompressionStream("deflate"));
  return new Uint8Array(await new Response(stream).arrayBuffer());
}

class Reader {
  constructor(bytes) {
    this.bytes = bytes;
    this.at = 0;
  }

  number() {
    let value = 0;
    let scale = 1;
    for (;;) {
      const octet = this.bytes[this.at++];
      value += (octet & 127) * scale;
      if (octet < 128) return value;
      scale *= 128;
    }
  }

  numbers(count, scale = 1) {
    const values = new Float64Array(count);
    for (let i = 0; i < count; i += 1) values[i] = this.number() * scale;
    return values;
  }

  // Differences of either sign, summed up.
  sums(count, scale = 1) {
    const values = new Float64Array(count);
    let sum = 0;
    for (let i = 0; i < count; i += 1) {
      const code = this.number();
      sum += code % 2 ? -(code + 1) / 2 : code / 2;
      values[i] = sum * scale;
    }
    return values;
  }
}

const SECONDS = 1e-6;

// Fills the headers of the arms with arrays, in the order in which they were written.
function readArms(arms, bytes) {
  const reader = new Reader(bytes);
  for (const arm of arms) {
    for (const series of Object.values(arm.series)) {
      series.t = reader.sums(series.n, SECONDS);
      series.v = reader.sums(series.n);
    }
    for (const marks of Object.values(arm.marks)) {
      marks.t = reader.sums(marks.n, SECONDS);
      marks.w = reader.numbers(marks.n);
    }
    for (const bands of Object.values(arm.bands)) {
      bands.t = reader.sums(bands.n, SECONDS);
      bands.length = reader.numbers(bands.n, SECONDS);
      bands.which = reader.numbers(bands.n);
    }
  }
  return arms;
}

// The first place whose time is greater than `time`.
function after(times, time) {
  let low = 0;
  let high = times.length;
  while (low < high) {
    const middle = (low + high) >> 1;
    if (times[middle] <= time) low = middle + 1;
    else high = middle;
  }
  return low;
}

// The value of a held series at a time; null before its first value.
function valueAt(series, time) {
  const place = after(series.t, time) - 1;
  return place < 0 ? null : series.v[place];
}

// First, least, greatest and last value of each pixel column between two times (M4); times stay exact where a
// column holds one value. `before` is what held when the view began.
function columns(series, from, to, width) {
  const { t, v } = series;
  const start = after(t, from);
  const end = after(t, to);
  const before = start > 0 ? v[start - 1] : null;
  const scale = width / (to - from);
  const found = { x: [], first: [], least: [], most: [], last: [], count: [], before };
  let column = -1;
  let at = -1;
  for (let i = start; i < end; i += 1) {
    const x = (t[i] - from) * scale;
    const value = v[i];
    if (Math.floor(x) !== column) {
      column = Math.floor(x);
      at += 1;
      found.x.push(x);
      found.first.push(value);
      found.least.push(value);
      found.most.push(value);
      found.last.push(value);
      found.count.push(1);
    } else {
      if (value < found.least[at]) found.least[at] = value;
      if (value > found.most[at]) found.most[at] = value;
      found.last[at] = value;
      found.count[at] += 1;
    }
  }
  return found;
}

// Rates of bytes so far over bins of `bin` seconds, bit/s, on a grid that does not move when the view does.
function rates(series, from, to, bin, end) {
  const found = { t: [], v: [] };
  const last = Math.min(to, end);
  for (let k = Math.floor(Math.max(0, from) / bin); k * bin < last; k += 1) {
    const stop = Math.min((k + 1) * bin, end);
    const bytes = (valueAt(series, stop) ?? 0) - (valueAt(series, k * bin) ?? 0);
    if (stop > k * bin) {
      found.t.push(k * bin);
      found.v.push((bytes * 8) / (stop - k * bin));
    }
  }
  return found;
}
