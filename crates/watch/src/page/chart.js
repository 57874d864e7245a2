"use strict";
// Small charts as SVG: axes with round numbers, lines and steps, a mark at the newest value, and a readout below the
// pointer. Nothing here knows of runs.

const SVG = "http://www.w3.org/2000/svg";

function element(name, attributes, parent) {
  const made = document.createElementNS(SVG, name);
  for (const key in attributes) {
    // The page's policy allows no style attribute, and this is none.
    if (key === "paint") made.style[attributes.paint[0]] = attributes.paint[1];
    else made.setAttribute(key, attributes[key]);
  }
  if (parent) parent.appendChild(made);
  return made;
}

// A number in few characters.
function short(x) {
  if (x === null || x === undefined || !isFinite(x)) return "–";
  const size = Math.abs(x);
  if (size === 0) return "0";
  if (size >= 1e9 || size < 9.995e-3) return x.toExponential(2).replace(/\.?0*e\+?/, "e");
  if (size >= 1e6) return trimmed(x / 1e6, size >= 1e7 ? 1 : 2) + "M";
  if (size >= 1e4) return trimmed(x / 1e3, size >= 1e5 ? 0 : 1) + "k";
  if (size >= 100) return trimmed(x, 0);
  if (size >= 1) return trimmed(x, 2);
  return String(Number(x.toPrecision(3)));
}

function trimmed(x, digits) {
  return String(Number(x.toFixed(digits)));
}

// Seconds in words.
function duration(seconds) {
  if (seconds === null || seconds === undefined || !isFinite(seconds)) return "–";
  const s = Math.max(0, Math.round(seconds));
  if (s < 60) return s + " s";
  if (s < 3600) return Math.floor(s / 60) + " min " + (s % 60) + " s";
  if (s < 172800) return Math.floor(s / 3600) + " h " + Math.floor((s % 3600) / 60) + " min";
  return Math.floor(s / 86400) + " d " + Math.floor((s % 86400) / 3600) + " h";
}

// Seconds as an estimate is said.
function rough(seconds) {
  if (seconds === null || seconds === undefined || !isFinite(seconds)) return "–";
  if (seconds < 90) return Math.max(0, Math.round(seconds)) + " s";
  if (seconds < 5400) return Math.round(seconds / 60) + " min";
  if (seconds < 172800) return trimmed(seconds / 3600, 1) + " h";
  return trimmed(seconds / 86400, 1) + " d";
}

// Round numbers that span from low to high, about so many.
function ticks(low, high, wanted) {
  const span = high - low;
  if (!(span > 0)) return [low];
  const raw = span / wanted, power = Math.pow(10, Math.floor(Math.log10(raw)));
  const step = [1, 2, 2.5, 5, 10].map(m => m * power).find(s => span / s <= wanted) || 10 * power;
  const found = [];
  for (let i = Math.ceil(low / step - 1e-9); i * step <= high + step * 1e-9; i++) found.push(i * step);
  return found;
}

// The numbers beside an axis: where one is so many thousands, all are.
function labelled(ticks) {
  const thousands = ticks.some(x => Math.abs(x) >= 1e4);
  return ticks.map(x => thousands && Math.abs(x) >= 1e3 && Math.abs(x) < 1e4 ? trimmed(x / 1e3, 1) + "k" : short(x));
}

// Powers of ten, with what lies between where there are few.
function logTicks(low, high) {
  const found = [];
  for (let e = Math.floor(Math.log10(low)); e <= Math.ceil(Math.log10(high)); e++) {
    for (const m of [1, 2, 5]) {
      const x = m * Math.pow(10, e);
      if (x >= low * 0.999 && x <= high * 1.001) found.push(x);
    }
  }
  if (found.length > 5) {
    const powers = found.filter(x => Math.abs(Math.log10(x) - Math.round(Math.log10(x))) < 1e-9);
    const every = Math.ceil(powers.length / 5);
    return powers.filter((_, i) => i % every === 0);
  }
  return found.length < 3 ? ticks(low, high, 4).filter(x => x > 0) : found;
}

// A curve as the server keeps it: pairs in one flat array, and the newest point.
class Curve {
  constructor() { this.points = []; this.last = null; }
  take(news) {
    this.points.length = 2 * news.from;
    for (const x of news.points) this.points.push(x);
    this.last = news.last;
  }
  get empty() { return this.points.length === 0; }
  // Calls with every point, the newest at the end.
  each(call) {
    const p = this.points;
    for (let i = 0; i < p.length; i += 2) call(p[i], p[i + 1]);
    if (this.last && (p.length === 0 || this.last[0] > p[p.length - 2] || this.last[1] !== p[p.length - 1])) call(this.last[0], this.last[1]);
  }
  // The value at a place: the newest that is not after it.
  at(x) {
    const p = this.points;
    if (p.length === 0 || x < p[0]) return null;
    let low = 0, high = p.length / 2 - 1;
    while (low < high) {
      const middle = (low + high + 1) >> 1;
      if (p[2 * middle] <= x) low = middle; else high = middle - 1;
    }
    if (this.last && x >= this.last[0]) return this.last[1];
    return p[2 * low + 1];
  }
}

// A chart in a box. `lines` are {curve, colour, dash, name, steps, faint, dots}; options: log, floor (a value that the
// axis reaches), end (the right end), unit.
class Chart {
  constructor(box, label) {
    this.box = box;
    this.svg = element("svg", { role: "img", "aria-label": label });
    box.appendChild(this.svg);
    this.readout = document.createElement("div");
    this.readout.className = "readout";
    this.readout.hidden = true;
    box.appendChild(this.readout);
    this.lines = [];
    this.options = {};
    box.addEventListener("pointermove", event => this.point(event));
    box.addEventListener("pointerleave", () => this.leave());
  }

  draw(lines, options) {
    this.lines = lines;
    this.options = options || {};
    const width = Math.max(160, Math.floor(this.box.clientWidth)), height = Math.max(90, Math.floor(this.box.clientHeight));
    const svg = this.svg;
    svg.setAttribute("viewBox", `0 0 ${width} ${height}`);
    svg.setAttribute("width", width);
    svg.setAttribute("height", height);
    while (svg.firstChild) svg.removeChild(svg.firstChild);
    let x0 = 0, x1 = this.options.end || 0, y0 = Infinity, y1 = -Infinity, positive = true;
    for (const line of lines) {
      line.curve.each((x, y) => {
        if (x > x1) x1 = x;
        if (y < y0) y0 = y;
        if (y > y1) y1 = y;
        if (!(y > 0)) positive = false;
      });
    }
    if (!(y1 >= y0)) {
      this.scale = null;
      const text = element("text", { x: width / 2, y: height / 2, class: "none", "text-anchor": "middle" }, svg);
      text.textContent = this.options.empty || "nothing yet";
      return;
    }
    const log = this.options.log && positive && y1 / y0 > 1.5;
    const f = log ? Math.log : (y => y);
    if (this.options.floor !== undefined && !log) { y0 = Math.min(y0, this.options.floor); y1 = Math.max(y1, this.options.floor); }
    if (y0 === y1) {
      const around = Math.abs(y0) * 0.1 || 1;
      y0 -= around; y1 += around;
    } else if (log) {
      const around = Math.pow(y1 / y0, 0.08);
      y0 /= around; y1 *= around;
    } else {
      const around = (y1 - y0) * 0.06;
      if (!(this.options.floor !== undefined && y0 === this.options.floor)) y0 -= around;
      y1 += around;
    }
    const yTicks = log ? logTicks(y0, y1) : ticks(y0, y1, height < 130 ? 3 : 4.5);
    const labels = labelled(yTicks.map(y => Math.abs(y) < 1e-12 * Math.max(Math.abs(y0), Math.abs(y1)) ? 0 : y));
    const left = 10 + 6.6 * Math.max(2, ...labels.map(label => label.length)), right = 12, top = 8, bottom = 22;
    const across = width - left - right, up = height - top - bottom;
    const sx = x => left + across * (x - x0) / ((x1 - x0) || 1);
    const sy = y => top + up * (1 - (f(y) - f(y0)) / ((f(y1) - f(y0)) || 1));
    this.scale = { sx, sy, left, right, top, up, across, x0, x1, width };
    yTicks.forEach((y, i) => {
      element("line", { x1: left, x2: width - right, y1: sy(y), y2: sy(y), class: "rule" }, svg);
      const text = element("text", { x: left - 6, y: sy(y) + 3.5, class: "tick", "text-anchor": "end" }, svg);
      text.textContent = labels[i];
    });
    const xTicks = ticks(x0, x1, Math.max(2, Math.floor(across / 75)));
    const below = labelled(xTicks);
    xTicks.forEach((x, i) => {
      const label = below[i], half = 3.3 * label.length;
      const place = Math.min(Math.max(sx(x), left + half - 4), width - half - 2);
      const text = element("text", { x: place, y: height - 6, class: "tick", "text-anchor": "middle" }, svg);
      text.textContent = label;
    });
    element("line", { x1: left, x2: width - right, y1: top + up, y2: top + up, class: "axis" }, svg);
    for (const line of lines) {
      if (line.curve.empty) continue;
      let path = "", before = null, count = 0;
      line.curve.each((x, y) => {
        if (log && !(y > 0)) return;
        const px = sx(x).toFixed(1), py = sy(y).toFixed(1);
        path += before === null ? `M${px} ${py}` : line.steps ? `H${px}V${py}` : `L${px} ${py}`;
        before = py;
        count += 1;
        if (line.dots) element("circle", { cx: px, cy: py, r: 2, paint: ["fill", line.colour] }, svg);
      });
      if (line.steps && this.options.held) path += `H${sx(Math.min(this.options.held, x1)).toFixed(1)}`;
      const shape = element("path", { d: path, class: "line " + (line.kind || (line.faint ? "faint" : line.strong ? "strong" : "")), paint: ["stroke", line.colour] }, svg);
      if (line.dash) shape.setAttribute("stroke-dasharray", line.dash);
      if (line.strong || lines.length <= 3) {
        const last = line.curve.last;
        const x = line.steps && this.options.held ? Math.min(this.options.held, x1) : last[0];
        if (!log || last[1] > 0) element("circle", { cx: sx(x), cy: sy(last[1]), r: 3, class: "end", paint: ["fill", line.colour] }, svg);
      }
    }
    this.cursor = element("line", { y1: top, y2: top + up, class: "cursor", visibility: "hidden" }, svg);
  }

  point(event) {
    const s = this.scale;
    if (!s) return;
    const box = this.svg.getBoundingClientRect();
    const x = s.x0 + (s.x1 - s.x0) * Math.min(1, Math.max(0, (event.clientX - box.left - s.left) / s.across));
    this.cursor.setAttribute("x1", s.sx(x));
    this.cursor.setAttribute("x2", s.sx(x));
    this.cursor.setAttribute("visibility", "visible");
    const shown = this.lines.filter(line => !line.faint).map(line => [line, line.curve.at(x)]).filter(pair => pair[1] !== null).slice(0, 6);
    this.readout.textContent = "";
    const at = document.createElement("span");
    at.textContent = short(x) + " steps";
    this.readout.appendChild(at);
    for (const [line, y] of shown) {
      const part = document.createElement("span");
      const swatch = document.createElement("i");
      swatch.style.background = line.colour;
      part.appendChild(swatch);
      part.appendChild(document.createTextNode((line.name ? line.name + " " : "") + short(y)));
      this.readout.appendChild(part);
    }
    this.readout.hidden = false;
    const half = this.readout.offsetWidth / 2;
    this.readout.style.left = Math.min(Math.max(s.sx(x), half), s.width - half) + "px";
  }

  leave() {
    this.readout.hidden = true;
    if (this.cursor) this.cursor.setAttribute("visibility", "hidden");
  }
}
