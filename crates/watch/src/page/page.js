"use strict";
// The page: takes what the server sends, and draws what has changed. Text only ever becomes text, whatever it says.

const ROW = 64;
const $ = id => document.getElementById(id);
const runs = new Map();
let order = [];
let shown = null;
let about = null;
let detail = new Map();
let source = null;
let ready = false;
let heard = 0;
const dirty = new Set();

// ---- what comes

function connect() {
  if (source) source.close();
  source = new EventSource(shown === null ? "events" : "events?run=" + shown);
  source.onmessage = message => { heard = Date.now(); take(JSON.parse(message.data)); link(true); };
  source.onerror = () => link(false);
}

function link(live) {
  $("link").className = live ? "link live" : "link lost";
  $("link-text").textContent = live ? "live" : "no connection";
  $("link").title = live ? "Changes appear as they happen" : "The watcher has ended, or does not answer; training does not depend on it";
}

function take(news) {
  if (news.directories) $("where").textContent = news.directories.join("  ");
  for (const told of news.runs || []) {
    const known = runs.get(told.id);
    const run = known ? known : { curve: new Curve(), evaluated: new Curve() };
    if (told.curve) run.curve.take(told.curve);
    if (told.evaluated) run.evaluated.take(told.evaluated);
    delete told.curve;
    delete told.evaluated;
    Object.assign(run, told);
    runs.set(run.id, run);
    mark("overview");
    if (run.id === shown) mark("head");
  }
  if (news.order) {
    order = news.order;
    const kept = new Set(order);
    for (const id of runs.keys()) if (!kept.has(id)) runs.delete(id);
    mark("overview");
    if (shown !== null && !kept.has(shown)) open(null);
  }
  if (news.ready) ready = true;
  if (news.about && news.about.id === shown) {
    about = news.about;
    mark("head");
  }
  if (news.detail && news.detail.id === shown) {
    if (news.detail.begins) detail = new Map();
    for (const name in news.detail.curves) {
      if (!detail.has(name)) detail.set(name, new Curve());
      detail.get(name).take(news.detail.curves[name]);
    }
    mark("charts");
  }
  if (shown === null && order.length > 0 && runs.size > 0) choose();
}

// Opens the run that the address names, or else one that trains.
function choose() {
  let named = "";
  try { named = decodeURIComponent(location.hash.slice(1)); } catch (error) { /* It names nothing. */ }
  const all = order.map(id => runs.get(id)).filter(run => run);
  const found = all.find(run => run.name === named) || all.find(run => run.state === "training") || all[0];
  if (found) open(found.id);
}

function open(id) {
  if (id === shown) return;
  shown = id;
  about = null;
  detail = new Map();
  const run = runs.get(id);
  if (run) history.replaceState(null, "", "#" + encodeURIComponent(run.name));
  picture.show(id);
  $("config").textContent = "";
  for (const panel of panels.values()) panel.card.remove();
  panels.clear();
  mark("overview", "head", "charts");
  connect();
}

// ---- what is drawn

let drawing = 0;
function mark(...what) {
  what.forEach(part => dirty.add(part));
  if (!drawing) drawing = requestAnimationFrame(draw);
}

function draw() {
  drawing = 0;
  const many = order.length > 60;
  if (dirty.has("overview")) {
    tiles();
    list();
    later(all, many ? 600 : 0);
  }
  if (dirty.has("overview") || dirty.has("head")) head();
  if (dirty.has("charts")) charts();
  dirty.clear();
}

// Runs something now, but not again before so many milliseconds have passed.
const waiting = new Map();
function later(call, rest) {
  if (rest === 0) return call();
  const entry = waiting.get(call) || { at: 0, timer: 0 };
  waiting.set(call, entry);
  if (entry.timer) return;
  const wait = Math.max(0, entry.at + rest - performance.now());
  entry.timer = setTimeout(() => { entry.timer = 0; entry.at = performance.now(); call(); }, wait);
}

function colour(run) {
  return `var(--s${run.colour})`;
}

// The method's pattern of strokes and gaps for a line of this thickness.
function dash(run, thickness) {
  return run.dash.map(length => length * thickness).join(" ");
}

function share(run) {
  if (run.state === "finished") return 1;
  return run.total ? Math.min(1, run.steps / run.total) : 0;
}

function tile(name, value, kind) {
  const box = document.createElement("div");
  box.className = "tile " + (kind || "");
  const number = document.createElement("b"), label = document.createElement("span");
  number.textContent = value;
  label.textContent = name;
  box.append(number, label);
  return box;
}

function tiles() {
  const found = order.map(id => runs.get(id)).filter(run => run);
  const count = state => found.filter(run => run.state === state).length;
  const main = $("main");
  main.className = found.length === 0 ? "empty" : found.length === 1 ? "single" : "";
  $("nothing").querySelector("h2").textContent = ready ? "No runs yet" : "Looking for runs";
  $("detail").hidden = found.length === 0;
  const steps = found.reduce((sum, run) => sum + share(run) * (run.total || 0), 0);
  const total = found.reduce((sum, run) => sum + (run.total || 0), 0);
  const left = timeLeft(found);
  const boxes = [tile("training", count("training"), "training"), tile("finished", count("finished"), "finished")];
  if (count("stopped")) boxes.push(tile("stopped", count("stopped"), "stopped"));
  if (count("failed")) boxes.push(tile("failed", count("failed"), "failed"));
  if (total) boxes.push(tile("of all steps", Math.floor(100 * steps / total) + "%"));
  if (left !== null) boxes.push(tile("left", rough(left)));
  $("tiles").replaceChildren(...boxes);
  const whole = total ? Math.floor(100 * steps / total) + "% · " : "";
  document.title = (count("training") ? whole : "") + "epgt watch";
}

// Seconds until all that train have ended: as long as the slowest takes, or all steps at the present rate, since some
// may wait for others to end; null where nobody knows.
function timeLeft(found) {
  const training = found.filter(run => run.state === "training");
  const known = training.filter(run => run.left !== null);
  if (known.length === 0) return null;
  const rate = known.reduce((sum, run) => sum + run.rate, 0);
  const steps = training.reduce((sum, run) => sum + Math.max(0, (run.total || 0) - run.steps), 0);
  return Math.max(...known.map(run => run.left), rate > 0 ? steps / rate : 0);
}

// The curves of all runs of one task.
let allChart = null;
function all() {
  if ($("main").className !== "") return;
  const current = runs.get(shown);
  const found = order.map(id => runs.get(id)).filter(run => run && (!current || run.task === current.task));
  if (!allChart) allChart = new Chart($("all"), "Learning curves of all runs");
  const lines = found.map(run => ({
    curve: run.curve, colour: colour(run), dash: dash(run, 1.6), name: run.label, faint: run.id !== shown && found.length > 1, strong: run.id === shown,
  }));
  lines.sort((a, b) => (a.strong ? 1 : 0) - (b.strong ? 1 : 0));
  allChart.draw(lines, { end: Math.max(0, ...found.map(run => run.total || 0)) });
  const tasks = new Set([...runs.values()].map(run => run.task));
  $("all-hint").textContent = (current && tasks.size > 1 ? current.task + ", " : "") + found.length + " runs, return over steps";
  const methods = new Map();
  for (const run of found) if (!methods.has(run.label)) methods.set(run.label, run);
  const entries = [...methods.values()].sort((a, b) => a.method - b.method).slice(0, 24).map(run => {
    const entry = document.createElement("span");
    entry.append(swatch(run), document.createTextNode(run.label || run.name));
    return entry;
  });
  $("legend").replaceChildren(...entries);
}

// A short line in the method's colour.
function swatch(run) {
  const svg = element("svg", { width: 28, height: 8, viewBox: "0 0 28 8", class: "swatch", "aria-hidden": "true" });
  const line = element("line", { x1: 0, x2: 28, y1: 4, y2: 4, paint: ["stroke", colour(run)], "stroke-width": 2.4 }, svg);
  if (run.dash.length) line.setAttribute("stroke-dasharray", dash(run, 2.4));
  return svg;
}

// ---- the list: only the rows that can be seen exist

let matching = [];
const built = new Map();

function list() {
  const wanted = $("filter").value.trim().toLowerCase();
  matching = order.map(id => runs.get(id)).filter(run => run && (!wanted || (run.name + " " + run.label + " " + run.state).toLowerCase().includes(wanted)));
  $("rows").style.height = matching.length * ROW + "px";
  rows();
}

function rows() {
  const box = $("list");
  const first = Math.max(0, Math.floor(box.scrollTop / ROW) - 2);
  const last = Math.min(matching.length, Math.ceil((box.scrollTop + box.clientHeight) / ROW) + 2);
  const seen = new Set();
  for (let i = first; i < last; i++) {
    const run = matching[i];
    seen.add(run.id);
    let row = built.get(run.id);
    if (!row) {
      row = buildRow(run.id);
      built.set(run.id, row);
      $("rows").appendChild(row.box);
    }
    fillRow(row, run, i);
  }
  for (const [id, row] of built) {
    if (!seen.has(id)) {
      row.box.remove();
      built.delete(id);
    }
  }
}

function buildRow(id) {
  const box = document.createElement("div");
  box.className = "row";
  box.setAttribute("role", "option");
  const state = document.createElement("span");
  const words = document.createElement("div");
  words.className = "words";
  const name = document.createElement("div");
  name.className = "name";
  const told = document.createElement("div");
  told.className = "told";
  words.append(name, told);
  const spark = element("svg", { class: "spark", width: 84, height: 30, viewBox: "0 0 84 30", "aria-hidden": "true" });
  const line = element("path", {}, spark);
  const score = document.createElement("div");
  score.className = "score";
  const bar = document.createElement("div");
  bar.className = "progress thin";
  const fill = document.createElement("span");
  bar.appendChild(fill);
  box.append(state, words, spark, score, bar);
  box.addEventListener("click", () => open(id));
  return { box, state, name, told, line, score, fill, drawn: "" };
}

function fillRow(row, run, place) {
  row.box.style.transform = `translateY(${place * ROW}px)`;
  row.box.classList.toggle("open", run.id === shown);
  row.box.setAttribute("aria-selected", run.id === shown);
  row.state.className = "state " + run.state;
  row.state.title = run.state;
  row.name.textContent = run.name;
  row.name.title = run.name;
  row.told.textContent = progressOf(run);
  row.score.textContent = short(run.score);
  row.fill.style.width = 100 * share(run) + "%";
  row.fill.style.background = colour(run);
  row.line.style.stroke = colour(run);
  const points = run.curve.points;
  const key = points.length + " " + (run.curve.last || "");
  if (key !== row.drawn) {
    row.drawn = key;
    row.line.setAttribute("d", sparkline(run, 84, 30));
  }
}

function progressOf(run) {
  if (run.state === "training") return Math.floor(100 * share(run)) + "%" + (run.left === null ? "" : " · " + rough(run.left) + " left");
  if (run.state === "finished") return "finished in " + duration(run.seconds);
  if (run.state === "failed") return "failed at " + Math.floor(100 * share(run)) + "%";
  return "stopped at " + Math.floor(100 * share(run)) + "%";
}

function sparkline(run, width, height) {
  let low = Infinity, high = -Infinity, end = run.total || 0;
  run.curve.each((x, y) => { low = Math.min(low, y); high = Math.max(high, y); end = Math.max(end, x); });
  if (!(high >= low) || !(end > 0)) return "";
  let path = "";
  run.curve.each((x, y) => {
    const px = 1 + (width - 2) * x / end, py = high > low ? 2 + (height - 4) * (high - y) / (high - low) : height / 2;
    path += (path ? "L" : "M") + px.toFixed(1) + " " + py.toFixed(1);
  });
  return path;
}

function move(by) {
  const place = matching.findIndex(run => run.id === shown);
  const next = matching[Math.min(matching.length - 1, Math.max(0, place + by))];
  if (!next) return;
  const box = $("list"), top = matching.indexOf(next) * ROW;
  if (top < box.scrollTop) box.scrollTop = top;
  if (top + ROW > box.scrollTop + box.clientHeight) box.scrollTop = top + ROW - box.clientHeight;
  open(next.id);
}

// ---- the run that is open

function fact(name, value) {
  const box = document.createElement("div"), term = document.createElement("dt"), said = document.createElement("dd");
  term.textContent = name;
  said.textContent = value;
  box.append(term, said);
  return box;
}

function head() {
  const run = runs.get(shown);
  if (!run) return;
  $("state").className = "state " + run.state;
  $("name").textContent = run.name;
  $("sub").replaceChildren(...[run.task, [run.algo, run.scheduler].filter(x => x).join(" "), run.seed === null ? null : "seed " + run.seed, run.state]
    .filter(text => text).map(text => { const part = document.createElement("span"); part.textContent = text; return part; }));
  $("problem").hidden = !run.problem;
  $("problem").textContent = run.problem || "";
  const fill = $("progress").firstElementChild;
  fill.style.width = 100 * share(run) + "%";
  fill.style.background = colour(run);
  const facts = [
    fact("steps", short(run.steps) + (run.total ? " of " + short(run.total) : "")),
    fact("return", short(run.score)),
    fact("best evaluation", short(run.best)),
    fact("steps/s", short(run.rate)),
    fact("time", duration(run.seconds)),
  ];
  if (run.state === "training") facts.push(fact("left", rough(run.left)));
  $("facts").replaceChildren(...facts);
  if (about && about.config !== null && $("config").textContent !== about.config) $("config").textContent = about.config;
}

const panels = new Map();

function panel(place, key, title, hint) {
  let found = panels.get(key);
  if (!found) {
    const card = document.createElement("div");
    card.className = "card";
    const top = document.createElement("div");
    top.className = "card-head";
    const name = document.createElement("h3"), said = document.createElement("p");
    name.textContent = title;
    said.className = "hint";
    top.append(name, said);
    const box = document.createElement("div");
    box.className = "chart";
    card.append(top, box);
    place.appendChild(card);
    found = { card, said, chart: new Chart(box, title) };
    panels.set(key, found);
  }
  found.said.textContent = hint;
  found.card.hidden = false;
  found.live = true;
  return found.chart;
}

function charts() {
  const run = runs.get(shown);
  if (!run) return;
  for (const found of panels.values()) found.live = false;
  const place = $("charts");
  const curve = name => detail.get(name);
  const has = name => detail.has(name) && !detail.get(name).empty;
  const line = (name, said, more) => ({ curve: curve(name), name: said, colour: colour(run), ...more });
  const end = run.total || 0;
  const newest = name => short(curve(name).last[1]);
  const returns = [];
  if (has("population/ep_rew_worst")) returns.push(line("population/ep_rew_worst", "worst member", { colour: "var(--muted)" }));
  if (has("population/ep_rew_median")) returns.push(line("population/ep_rew_median", "median member", { colour: "var(--muted)", dash: "6 3" }));
  if (has("rollout/ep_rew_mean")) returns.push(line("rollout/ep_rew_mean", "training", { strong: true }));
  if (has("eval/mean_reward")) returns.push(line("eval/mean_reward", "evaluation", { colour: "var(--ink)", dash: "2 3", dots: curve("eval/mean_reward").points.length < 200 }));
  const evaluated = has("eval/mean_reward") ? "; dotted: evaluations" : "";
  panel(place, "return", "Return", (has("rollout/ep_rew_mean") ? newest("rollout/ep_rew_mean") : "mean of the last 100 episodes") + evaluated).draw(returns, { end, empty: "no episode has ended yet" });
  const scheduled = [...detail.keys()].filter(name => name.startsWith("hyper/correlation_")).map(name => name.slice(18));
  for (const name of about && about.fixed ? [] : scheduled) {
    const key = has("chosen/" + name) ? "chosen/" + name : "hyper/" + name;
    if (!has(key)) continue;
    // Where values change too often for the eye, what they come to is drawn upon them.
    const dense = has("trend/" + name) && curve(key).points.length > 160;
    const lines = [line(key, name, { steps: true, strong: !dense, kind: dense ? "dense" : "" })];
    if (dense) lines.push(line("trend/" + name, "mean", { strong: true }));
    panel(place, "chosen " + name, "Scheduled: " + name, newest(key) + (dense ? "; line: mean of the last 50 or so" : ""))
      .draw(lines, { end, log: true, held: run.steps });
  }
  const diverged = ["train/divergence", "train/approx_kl"].find(has);
  if (diverged) {
    const lines = [line(diverged, "per update", { strong: true })];
    if (has("train/target_divergence")) lines.unshift(line("train/target_divergence", "wanted", { colour: "var(--ink)", dash: "6 3", steps: true }));
    panel(place, "divergence", "Divergence", newest(diverged) + (lines.length > 1 ? "; dashed: wanted" : "")).draw(lines, { end, floor: 0 });
  }
  if (has("train/learning_rate") && !has("chosen/learning_rate")) {
    panel(place, "rate", "Learning rate", newest("train/learning_rate")).draw([line("train/learning_rate", "", { strong: true, steps: true })], { end, log: true, held: run.steps });
  }
  if (has("hyper/memory") && curve("hyper/memory").last[1] > 0) {
    panel(place, "memory", "Memory", newest("hyper/memory") + " moments").draw([line("hyper/memory", "moments", { strong: true, steps: true })], { end, floor: 0, held: run.steps });
  }
  if (has("time/fps")) panel(place, "speed", "Speed", newest("time/fps") + " steps/s").draw([line("time/fps", "steps/s", { strong: true })], { end, floor: 0 });
  if ($("more").open) {
    for (const name of [...detail.keys()].filter(has)) {
      if (name === "time/total_timesteps") continue;
      panel($("more-charts"), "all " + name, name, newest(name)).draw([line(name, "")], { end });
    }
  }
  for (const found of panels.values()) found.card.hidden = !found.live;
}

// ---- the reader

const picture = new Picture($("screen"), $("screen-text"), $("play-hint"), $("play"));
$("pause").addEventListener("click", () => {
  picture.pause(!picture.paused);
  $("pause").textContent = picture.paused ? "Play" : "Pause";
});
$("filter").addEventListener("input", list);
$("list").addEventListener("scroll", rows);
$("list").addEventListener("keydown", event => {
  const by = { ArrowDown: 1, ArrowUp: -1, PageDown: 8, PageUp: -8 }[event.key];
  if (by) { event.preventDefault(); move(by); }
});
$("more").addEventListener("toggle", () => mark("charts"));

const dark = matchMedia("(prefers-color-scheme: dark)");
function face(asked) {
  const now = asked || localStorage.getItem("epgt-face") || (dark.matches ? "dark" : "light");
  document.documentElement.dataset.face = now;
  $("face").textContent = now === "dark" ? "Light" : "Dark";
}
$("face").addEventListener("click", () => {
  const next = document.documentElement.dataset.face === "dark" ? "light" : "dark";
  localStorage.setItem("epgt-face", next);
  face(next);
});
dark.addEventListener("change", () => face());
face();

new ResizeObserver(() => mark("overview", "charts")).observe($("main"));
setInterval(() => { if (heard && Date.now() - heard > 12000) link(false); }, 2000);
connect();
