// Canvases: the timelines (a still layer and one for cursor and focus above it) and the grids of the mask.
"use strict";

const PALETTE = DATA.palette;  // [compute, reduce] per head, repeating
const css = name => getComputedStyle(document.documentElement).getPropertyValue(name).trim();
const hue = head => PALETTE[head % PALETTE.length];
const GUTTER = 46, AXIS = 20;

function sized(canvas, width, height) {
  const ratio = window.devicePixelRatio || 1;
  canvas.width = Math.max(1, Math.round(width * ratio));
  canvas.height = Math.max(1, Math.round(height * ratio));
  canvas.style.height = height + "px";
  const pen = canvas.getContext("2d");
  pen.setTransform(ratio, 0, 0, ratio, 0, 0);
  pen.clearRect(0, 0, width, height);
  return pen;
}

function hatching(pen) {
  const tile = document.createElement("canvas");
  tile.width = tile.height = 6;
  const brush = tile.getContext("2d");
  brush.fillStyle = css("--paper");
  brush.fillRect(0, 0, 6, 6);
  brush.strokeStyle = css("--hatch");
  brush.lineWidth = 1;
  brush.beginPath();
  for (const shift of [-6, 0, 6]) { brush.moveTo(shift, 6); brush.lineTo(shift + 6, 0); }
  brush.stroke();
  return pen.createPattern(tile, "repeat");
}

function rowHeight(run) { return Math.max(4, Math.min(26, Math.floor(560 / Math.max(1, run.sms)))); }
function timelineHeight(run) { return run.sms * rowHeight(run) + AXIS; }

// Time in units <-> x in a timeline of `width` points; view is {from, to} in units.
const xOf = (view, width, time) => GUTTER + (time - view.from) / (view.to - view.from) * (width - GUTTER - 8);
const timeOf = (view, width, x) => view.from + (x - GUTTER) / (width - GUTTER - 8) * (view.to - view.from);

function roundSteps(from, to, wanted) {
  const raw = (to - from) / wanted, power = 10 ** Math.floor(Math.log10(raw));
  const step = [1, 2, 5, 10].map(f => f * power).find(s => s >= raw * 0.999) || power * 10;
  const steps = [];
  for (let k = Math.ceil(from / step - 1e-9); k * step <= to * (1 + 1e-9); ++k) steps.push(+(k * step).toPrecision(12));
  return steps;
}

function drawTimeline(canvas, run, view, width) {
  const high = rowHeight(run), height = timelineHeight(run);
  const pen = sized(canvas, width, height);
  const left = GUTTER, right = width - 8;
  const scale = (right - left) / (view.to - view.from) / run.ticks;
  const origin = left - view.from * scale * run.ticks;
  const x = ticks => origin + ticks * scale;
  const critical = css("--critical"), ink = css("--ink"), idle = css("--idle"), hatch = hatching(pen), paper = css("--paper"), gap = high > 8 ? 2 : high > 5 ? 1 : 0;
  pen.font = "11px system-ui, Arial, sans-serif";
  pen.textBaseline = "middle";
  const stride = Math.max(1, Math.ceil(13 / high));
  pen.textAlign = "right";
  pen.fillStyle = css("--quiet");
  for (let sm = 0; sm < run.sms; sm += stride) pen.fillText("SM " + sm, left - 6, Math.max(6, (sm + 0.5) * high));
  pen.save();
  pen.beginPath();
  pen.rect(left, 0, right - left, height - AXIS);
  pen.clip();
  pen.textAlign = "center";
  for (let sm = 0; sm < run.sms; ++sm) {
    const top = sm * high, bottom = top + high - gap;
    const middle = run.overlapped ? top + (bottom - top) * 0.6 : bottom;
    const reduceTop = run.overlapped ? middle : top;
    pen.fillStyle = idle;
    pen.fillRect(x(0), top, x(run.makespan) - x(0), bottom - top);
    let i = taskAt(run, sm, (left - origin) / scale);
    // With overlap an earlier task's reduce may still reach into the view.
    i = Math.max(run.begin[sm], i - 8);
    let painted = -1;  // what is narrower than half a point is drawn once per half point
    for (; i < run.begin[sm + 1]; ++i) {
      const start = x(run.computeStart[i]);
      if (start > right) break;
      const stop = x(run.reduceEnd[i]);
      if (stop - painted < 0.5) continue;
      painted = stop;
      const [light, dark] = hue(run.head[i]);
      const computed = x(run.computeEnd[i]), reduce = x(run.reduceStart[i]);
      const line = stop - start > 6 ? 0.5 : 0;
      pen.fillStyle = light;
      pen.fillRect(start, top, Math.max(0.5, computed - start - line), middle - top);
      const own = run.overlapped && i > run.begin[sm] ? Math.max(computed, x(run.reduceEnd[i - 1])) : computed;
      if (reduce - own > 0.5) {
        pen.fillStyle = hatch;
        pen.fillRect(own, reduceTop, reduce - own, bottom - reduceTop);
      }
      if (stop > reduce) {
        pen.fillStyle = dark;
        pen.fillRect(reduce, reduceTop, Math.max(0.5, stop - reduce - line), bottom - reduceTop);
      }
      if (high >= 14 && computed - start > 24) {
        pen.fillStyle = "#1b1f24";
        const label = run.flags[i] & 4 ? "kv" + run.kv[i] : "q" + run.q[i];
        if (pen.measureText(label).width < computed - start - 3) pen.fillText(label, (start + computed) / 2, (top + middle) / 2);
      }
      if (i > run.begin[sm] && run.chain[i] !== run.chain[i - 1] && stop - start > 3) {
        pen.fillStyle = ink;
        pen.fillRect(start - 0.5, top, 1, bottom - top);
      }
      if (run.flags[i] & 3 && stop - start > 5) {
        pen.strokeStyle = critical;
        pen.lineWidth = 1.6;
        if (run.flags[i] & 1) pen.strokeRect(start + 0.8, top + 0.8, computed - start - 1.6, middle - top - 1.6);
        if (run.flags[i] & 2 && stop - reduce > 4) pen.strokeRect(reduce + 0.8, reduceTop + 0.8, Math.max(0.5, stop - reduce - 1.6), bottom - reduceTop - 1.6);
      }
    }
  }
  if (run.bound > 0) {
    const at = x(run.bound);
    for (const [colour, wide, dash] of [[paper, 3, []], [ink, 1.4, [6, 4]]]) {
      pen.strokeStyle = colour;
      pen.lineWidth = wide;
      pen.setLineDash(dash);
      pen.beginPath();
      pen.moveTo(at, 0);
      pen.lineTo(at, height - AXIS);
      pen.stroke();
    }
    pen.setLineDash([]);
  }
  pen.restore();
  pen.strokeStyle = css("--line");
  pen.fillStyle = css("--quiet");
  pen.textAlign = "center";
  for (const step of roundSteps(view.from, view.to, Math.max(2, (right - left) / 90))) {
    const at = xOf(view, width, step);
    pen.beginPath();
    pen.moveTo(at, height - AXIS);
    pen.lineTo(at, height - AXIS + 4);
    pen.stroke();
    pen.fillText(String(step), at, height - AXIS + 12);
  }
}

function drawOverlay(canvas, run, view, width, time, marked) {
  const high = rowHeight(run), height = timelineHeight(run);
  const pen = sized(canvas, width, height);
  const at = xOf(view, width, time);
  if (at >= GUTTER - 1 && at <= width - 7) {
    pen.fillStyle = css("--accent");
    pen.fillRect(at - 1, 0, 2, height - AXIS + 5);
  }
  if (marked < 0) return;
  const sm = smOf(run, marked);
  const from = Math.max(GUTTER, xOf(view, width, run.computeStart[marked] / run.ticks));
  const to = Math.min(width - 8, xOf(view, width, run.reduceEnd[marked] / run.ticks));
  if (to < from) return;
  pen.strokeStyle = css("--paper");
  pen.lineWidth = 5;
  pen.strokeRect(from - 1, sm * high, Math.max(3, to - from + 2), high - 1);
  pen.strokeStyle = css("--accent");
  pen.lineWidth = 3;
  pen.strokeRect(from - 1, sm * high, Math.max(3, to - from + 2), high - 1);
}

const rgb = text => [1, 3, 5].map(k => parseInt(text.slice(k, k + 2), 16));

// The mask of each shown head, q downwards, kv to the right: to come, at work, done.
function drawGrids(canvas, run, tick, heads, room) {
  const { qTiles, kvTiles } = DATA;
  const wide = Math.max(30, Math.min(150, (room - 14 * (heads.length - 1)) / heads.length, 160 * kvTiles / qTiles));
  const cell = wide / kvTiles, tall = cell * qTiles, head = 15;
  const width = heads.length * (wide + 14) - 14;
  canvas.style.width = width + "px";
  const pen = sized(canvas, width, tall + head + 2);
  const empty = rgb(css("--paper")), pending = rgb(css("--pending")), done = rgb(css("--done"));
  const ink = css("--ink");
  const place = new Map(heads.map((h, k) => [h, k]));
  const images = heads.map(() => {
    const image = new ImageData(kvTiles, qTiles);
    for (let p = 0; p < kvTiles * qTiles; ++p) image.data.set([...empty, 255], 4 * p);
    return image;
  });
  const lit = [];
  for (let i = 0; i < run.count; ++i) {
    const k = place.get(run.head[i]);
    if (k === undefined) continue;
    const state = stateOf(run, i, tick);
    if (run.flags[i] & 4 && state !== 1) continue;  // the second pass visits the same tiles again
    const [light, dark] = hue(run.head[i]);
    const colour = state === 0 ? pending : state === 4 ? done : state === 1 ? rgb(light) : state === 3 ? rgb(dark) : empty;
    const p = 4 * (run.q[i] * kvTiles + run.kv[i]), data = images[k].data;
    data[p] = colour[0], data[p + 1] = colour[1], data[p + 2] = colour[2];
    if (state > 0 && state < 4) lit.push([k, run.q[i], run.kv[i], state]);
  }
  const scratch = document.createElement("canvas");
  scratch.width = kvTiles;
  scratch.height = qTiles;
  pen.imageSmoothingEnabled = false;
  pen.font = "11px system-ui, Arial, sans-serif";
  pen.textBaseline = "middle";
  heads.forEach((h, k) => {
    const left = k * (wide + 14);
    scratch.getContext("2d").putImageData(images[k], 0, 0);
    pen.drawImage(scratch, left, head, wide, tall);
    pen.fillStyle = css("--quiet");
    pen.fillText((wide > 56 ? "head " + h : String(h)) + (k === 0 && wide > 88 ? "  q ↓ kv →" : ""), left, 6);
    pen.strokeStyle = css("--line");
    pen.lineWidth = 1;
    if (cell >= 6) {
      pen.beginPath();
      for (let c = 0; c <= kvTiles; ++c) { pen.moveTo(left + c * cell, head); pen.lineTo(left + c * cell, head + tall); }
      for (let r = 0; r <= qTiles; ++r) { pen.moveTo(left, head + r * cell); pen.lineTo(left + wide, head + r * cell); }
      pen.stroke();
    } else {
      pen.strokeRect(left, head, wide, tall);
    }
  });
  const hatch = hatching(pen);
  for (const [k, q, kv, state] of lit) {
    const left = k * (wide + 14) + kv * cell, top = head + q * cell;
    if (state === 2) {
      pen.fillStyle = hatch;
      pen.fillRect(left, top, cell, cell);
    }
    if (cell >= 5) {
      pen.strokeStyle = ink;
      pen.lineWidth = 1.5;
      pen.strokeRect(left + 0.5, top + 0.5, cell - 1, cell - 1);
    } else if (cell < 3) {  // too small to be seen alone
      pen.fillStyle = state === 2 ? css("--hatch") : state === 1 ? css("--accent") : ink;
      pen.fillRect(left - 0.5, top - 0.5, 3, 3);
    }
  }
}
