// The page: controls, keys, hover, focus, the address, tables.
"use strict";

const $ = id => document.getElementById(id);
const runs = DATA.runs.map(makeRun);
const steps = allSteps(runs);
const longest = Math.max(1e-9, ...runs.map(run => Math.max(run.end, run.bound / run.ticks)));
const view = { from: 0, to: longest };
const HEADS_A_PAGE = DATA.heads <= 4 ? DATA.heads : 4;
let step = 0, playing = 0, headPage = 0;
const marked = runs.map(() => -1);
const panels = [];

const time = () => steps[step];
const tickOf = run => Math.round(time() * run.ticks * 1e6) / 1e6;

function element(name, attributes = {}, text = "") {
  const made = document.createElement(name);
  for (const [key, value] of Object.entries(attributes)) made.setAttribute(key, value);
  made.textContent = text;
  return made;
}

function buildPanels() {
  for (const run of runs) {
    const box = element("label"), check = element("input", { type: "checkbox" });
    check.checked = true;
    check.addEventListener("change", () => { run.shown = check.checked; panels[run.number].root.hidden = !run.shown; redraw(); });
    box.append(check, " " + run.name);
    $("toggles").append(box);

    const root = element("div", { class: "run" });
    const title = element("h2", {}, run.name);
    title.append(element("span", { class: "figures" }, run.figures));
    const views = element("div", { class: "views" });
    const timeline = element("div", { class: "timeline" });
    const still = element("canvas", { "aria-hidden": "true" });
    const over = element("canvas", {
      class: "over", tabindex: "0", role: "application",
      "aria-label": `Timeline of ${run.name}: ${run.sms} SMs, ${run.count} tasks. Arrow keys walk along the tasks.`,
      "aria-describedby": "facts",
    });
    const grid = element("div", { class: "grid" });
    const cells = element("canvas", { role: "img", "aria-label": `Grid of q tiles by kv tiles: the tasks of ${run.name} at this step` });
    timeline.append(still, over);
    grid.append(cells);
    views.append(timeline, grid);
    root.append(title, views);
    $("runs").append(root);
    panels.push({ root, timeline, still, over, cells, width: 0 });
    listen(run, panels[run.number]);
  }
}

function buildHeads() {
  if (DATA.heads <= HEADS_A_PAGE) return;
  $("heads").hidden = false;
  for (let first = 0; first < DATA.heads; first += HEADS_A_PAGE)
    $("head-page").append(element("option", { value: first / HEADS_A_PAGE },
      `${first} to ${Math.min(DATA.heads, first + HEADS_A_PAGE) - 1}`));
  $("head-page").addEventListener("change", () => { headPage = +$("head-page").value; redraw(); });
}

function shownHeads() {
  const first = headPage * HEADS_A_PAGE;
  return Array.from({ length: Math.min(HEADS_A_PAGE, DATA.heads - first) }, (_, k) => first + k);
}

// --- drawing, at most once per frame ---
let wanted = 0, stale = true, spoken = 0;
function redraw(still = true) {
  stale = stale || still;
  if (!wanted) wanted = requestAnimationFrame(draw);
}

function draw() {
  wanted = 0;
  for (const run of runs) {
    if (!run.shown) continue;
    const panel = panels[run.number];
    drawGrids(panel.cells, run, tickOf(run), shownHeads(), Math.min(460, document.body.clientWidth * 0.36));
  }
  for (const run of runs) {
    if (!run.shown) continue;
    const panel = panels[run.number];
    const width = panel.timeline.clientWidth;
    if (stale || width !== panel.width) drawTimeline(panel.still, run, view, width);
    panel.width = width;
    drawOverlay(panel.over, run, view, width, time(), marked[run.number]);
  }
  stale = false;
  const unit = runs.length ? runs[0].unit : "";
  $("slider").value = step;
  $("slider").setAttribute("aria-valuetext", `${+time().toFixed(4)} ${unit}`);
  $("clock").textContent = `${+time().toFixed(4)} ${unit} · step ${step} of ${steps.length - 1}`;
  if (!playing) {
    clearTimeout(spoken);
    spoken = setTimeout(settle, 150);
  }
}

// What is slow or spoken waits until the reader rests.
function settle() {
  // Inside the playground's frame there is no address of its own.
  if (location.protocol !== "about:") history.replaceState(null, "", "#step=" + step);
  if (marked.every(task => task < 0)) $("facts").textContent = summary();
  if ($("now").open) fillNow();
}

function summary() {
  const parts = [];
  for (const run of runs) {
    if (!run.shown) continue;
    const count = [0, 0, 0, 0];
    for (let sm = 0; sm < run.sms; ++sm) {
      const busy = current(run, sm, tickOf(run));
      const working = busy.find(b => b.state !== 2) || busy[0];
      ++count[working ? working.state : 0];
    }
    parts.push(`${run.name}: ${count[1]} compute, ${count[3]} reduce, ${count[2]} wait, ${count[0]} idle`);
  }
  return `At ${+time().toFixed(4)} ${runs.length ? runs[0].unit : ""}, SMs of ` + parts.join("; ") + ".";
}

function fillNow() {
  const table = $("now-table");
  table.replaceChildren();
  const head = element("tr");
  for (const name of ["Schedule", "SM", "Head", "q", "kv", "Rank", "State"]) head.append(element("th", { scope: "col" }, name));
  table.append(element("thead"), element("tbody"));
  table.tHead.append(head);
  let rows = 0;
  for (const run of runs) {
    if (!run.shown) continue;
    for (let sm = 0; sm < run.sms; ++sm)
      for (const { task, state } of current(run, sm, tickOf(run))) {
        if (++rows > 400) continue;
        const row = element("tr");
        for (const cell of [run.name, sm, run.head[task], run.q[task], run.kv[task], run.rank[task], STATES[state]])
          row.append(element("td", {}, String(cell)));
        table.tBodies[0].append(row);
      }
  }
  if (rows > 400) table.append(element("caption", {}, `The first 400 of ${rows} tasks`));
}

function fillBubbles() {
  const table = $("bubbles");
  const head = element("tr");
  const unit = runs.length ? runs[0].unit : "";
  for (const name of ["Schedule", `makespan (${unit})`, "busy", "waiting for a rank", "start-up", "after the last task", "between tasks"])
    head.append(element("th", { scope: "col" }, name));
  table.append(element("thead"), element("tbody"));
  table.tHead.append(head);
  for (const run of runs) {
    const total = run.makespan * run.sms || 1;
    const row = element("tr");
    row.append(element("th", { scope: "row" }, run.name), element("td", {}, timeText(run, run.makespan)));
    for (const cause of ["busy", "wait", "startup", "tail", "between"])
      row.append(element("td", {}, `${timeText(run, run.bubbles[cause])} (${(100 * run.bubbles[cause] / total).toFixed(1)} %)`));
    table.tBodies[0].append(row);
  }
}

function fillLegend() {
  const [light, dark] = PALETTE[0];
  for (const [text, paint] of [
    ["compute", pen => { pen.fillStyle = light; pen.fillRect(0, 0, 18, 12); }],
    ["reduce", pen => { pen.fillStyle = dark; pen.fillRect(0, 0, 18, 12); }],
    ["waiting for its rank", pen => { pen.fillStyle = hatching(pen); pen.fillRect(0, 0, 18, 12); }],
    ["idle", pen => { pen.fillStyle = css("--idle"); pen.fillRect(0, 0, 18, 12); }],
    ["critical path", pen => { pen.fillStyle = light; pen.fillRect(0, 0, 18, 12); pen.strokeStyle = css("--critical"); pen.lineWidth = 2; pen.strokeRect(1, 1, 16, 10); }],
    ["lower bound", pen => { pen.strokeStyle = css("--ink"); pen.setLineDash([4, 2]); pen.beginPath(); pen.moveTo(9, 0); pen.lineTo(9, 12); pen.stroke(); }],
    ["grid: to come", pen => { pen.fillStyle = css("--pending"); pen.fillRect(0, 0, 18, 12); }],
    ["grid: done", pen => { pen.fillStyle = css("--done"); pen.fillRect(0, 0, 18, 12); pen.strokeStyle = css("--line"); pen.strokeRect(0.5, 0.5, 17, 11); }],
  ]) {
    const item = element("span"), sample = element("canvas", { "aria-hidden": "true" });
    sample.style.width = "18px";
    paint(sized(sample, 18, 12));
    item.append(sample, text);
    $("legend").append(item);
  }
}

// --- time ---
function go(to, keepMarks = false) {
  step = Math.max(0, Math.min(steps.length - 1, Math.round(to)));
  if (!keepMarks) marked.fill(-1);
  let moved = false;
  if (time() < view.from || time() > view.to) {
    const span = view.to - view.from;
    view.from = Math.max(0, Math.min(longest - span, time() - span / 2));
    view.to = view.from + span;
    moved = true;
  }
  redraw(moved);
}

function stepAt(moment) {
  let low = 0, high = steps.length;
  while (low < high) {
    const middle = (low + high) >> 1;
    if (steps[middle] <= moment + 1e-9) low = middle + 1; else high = middle;
  }
  return Math.max(0, low - 1);
}

function play(on) {
  playing = on ? performance.now() : 0;
  $("play").textContent = on ? "⏸ pause" : "▶ play";
  $("play").setAttribute("aria-pressed", String(on));
  $("play").setAttribute("aria-label", on ? "Pause" : "Play");
  if (!on) return redraw(false);
  if (step >= steps.length - 1) go(0);
  const start = time(), began = performance.now(), length = Math.max(6000, Math.min(30000, 250 * longest));
  const frame = now => {
    if (!playing) return;
    const moment = start + (now - began) / length * longest;
    go(stepAt(moment));
    if (moment >= longest) return play(false);
    requestAnimationFrame(frame);
  };
  requestAnimationFrame(frame);
}

function zoom(factor) {
  const span = Math.min(longest, (view.to - view.from) * factor);
  const centre = factor < 1 ? time() : (view.from + view.to) / 2;
  view.from = Math.max(0, Math.min(longest - span, centre - span / 2));
  view.to = view.from + span;
  redraw();
}

// --- tasks: hover and keyboard focus ---
function mark(run, task) {
  marked.fill(-1);
  marked[run.number] = task;
  if (task >= 0) $("facts").textContent = facts(run, task);
  redraw(false);
}

function taskUnder(run, panel, event) {
  const frame = panel.over.getBoundingClientRect();
  const sm = Math.floor((event.clientY - frame.top) / rowHeight(run));
  const moment = timeOf(view, panel.width, event.clientX - frame.left);
  if (sm < 0 || sm >= run.sms || moment < 0) return -1;
  const task = taskAt(run, sm, moment * run.ticks);
  return task >= 0 && moment * run.ticks <= run.reduceEnd[task] ? task : -1;
}

function listen(run, panel) {
  const { over } = panel;
  let dragging = false;
  const scrub = event => {
    const frame = over.getBoundingClientRect();
    go(stepAt(Math.max(0, timeOf(view, panel.width, event.clientX - frame.left))), true);
  };
  over.addEventListener("pointerdown", event => { dragging = true; over.setPointerCapture(event.pointerId); scrub(event); });
  over.addEventListener("pointerup", () => { dragging = false; });
  over.addEventListener("pointermove", event => {
    if (dragging) scrub(event);
    const task = taskUnder(run, panel, event);
    const tip = $("tip");
    tip.hidden = task < 0;
    if (task < 0) return;
    if (marked[run.number] !== task) mark(run, task);
    tip.textContent = facts(run, task);
    tip.style.left = Math.min(event.clientX + 14, window.innerWidth - tip.offsetWidth - 8) + "px";
    tip.style.top = Math.min(event.clientY + 16, window.innerHeight - tip.offsetHeight - 8) + "px";
  });
  over.addEventListener("pointerleave", () => { $("tip").hidden = true; });
  over.addEventListener("focus", () => {
    if (marked[run.number] < 0) mark(run, Math.max(run.begin[0], taskAt(run, 0, tickOf(run))));
  });
  over.addEventListener("keydown", event => {
    const moves = { ArrowLeft: [0, -1], ArrowRight: [0, 1], ArrowUp: [-1, 0], ArrowDown: [1, 0] };
    const move = moves[event.key];
    if (!move || run.count === 0) return;
    event.preventDefault();
    event.stopPropagation();
    let task = Math.max(0, marked[run.number]);
    if (move[0]) {
      const sm = Math.max(0, Math.min(run.sms - 1, smOf(run, task) + move[0]));
      const there = taskAt(run, sm, run.computeStart[task]);
      task = there >= 0 ? there : run.begin[sm] < run.begin[sm + 1] ? run.begin[sm] : task;
    } else {
      const sm = smOf(run, task);
      task = Math.max(run.begin[sm], Math.min(run.begin[sm + 1] - 1, task + move[1]));
    }
    mark(run, task);
    go(stepAt(run.computeStart[task] / run.ticks), true);
  });
}

function listenPage() {
  $("slider").max = steps.length - 1;
  $("slider").addEventListener("input", () => { play(false); go(+$("slider").value); });
  $("first").addEventListener("click", () => go(0));
  $("back").addEventListener("click", () => go(step - 1));
  $("next").addEventListener("click", () => go(step + 1));
  $("last").addEventListener("click", () => go(steps.length - 1));
  $("play").addEventListener("click", () => play(!playing));
  $("in").addEventListener("click", () => zoom(0.5));
  $("out").addEventListener("click", () => zoom(2));
  $("fit").addEventListener("click", () => zoom(Infinity));
  $("now").addEventListener("toggle", () => { if ($("now").open) fillNow(); });
  $("theme").addEventListener("click", () => theme(!document.documentElement.classList.contains("dark")));
  window.addEventListener("resize", () => redraw());
  window.addEventListener("hashchange", readAddress);
  document.addEventListener("keydown", event => {
    if (event.ctrlKey || event.metaKey || event.altKey) return;
    const tag = event.target.tagName;
    if (tag === "SELECT" || (tag === "INPUT" && event.target.type === "range" && event.key !== " ")) return;
    if (event.key === " " && ["BUTTON", "INPUT", "SUMMARY"].includes(tag) && event.target.type !== "range") return;
    const twentieth = Math.max(1, Math.round(steps.length / 20));
    const keys = {
      ArrowRight: () => go(step + (event.shiftKey ? 10 : 1)), ArrowLeft: () => go(step - (event.shiftKey ? 10 : 1)),
      PageDown: () => go(step + twentieth), PageUp: () => go(step - twentieth), Home: () => go(0), End: () => go(steps.length - 1),
      " ": () => play(!playing), "+": () => zoom(0.5), "=": () => zoom(0.5), "-": () => zoom(2), "0": () => zoom(Infinity),
    };
    const action = keys[event.key];
    if (!action) return;
    event.preventDefault();
    if (playing && event.key !== " ") play(false);
    action();
  });
}

function theme(dark) {
  document.documentElement.classList.toggle("dark", dark);
  $("theme").textContent = dark ? "Light" : "Dark";
  $("theme").setAttribute("aria-pressed", String(dark));
  $("legend").replaceChildren();
  fillLegend();
  redraw();
}

function readAddress() {
  const found = /(?:^#|&)step=(\d+)/.exec(location.hash);
  go(found ? +found[1] : 0);
}

buildPanels();
buildHeads();
fillBubbles();
listenPage();
theme(window.matchMedia("(prefers-color-scheme: dark)").matches);
readAddress();
