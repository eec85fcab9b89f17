// The runs as columns of numbers, and the questions the page asks of them. No drawing here.
"use strict";

function column(text, kind) {
  const letters = atob(text);
  const bytes = new Uint8Array(letters.length);
  for (let i = 0; i < letters.length; ++i) bytes[i] = letters.charCodeAt(i);
  const types = { u8: Uint8Array, u16: Uint16Array, u32: Uint32Array, f64: Float64Array };
  return new types[kind](bytes.buffer);
}

function makeRun(data, number) {
  const run = { ...data, number, shown: true };
  for (const [name, [kind, text]] of Object.entries(data.columns)) run[name] = column(text, kind);
  delete run.columns;
  run.count = run.q.length;
  run.end = run.makespan / run.ticks;
  return run;
}

// The last task of an SM that has started to compute by `tick`; -1 if none has.
function taskAt(run, sm, tick) {
  let low = run.begin[sm], high = run.begin[sm + 1];
  const first = low;
  while (low < high) {
    const middle = (low + high) >> 1;
    if (run.computeStart[middle] <= tick) low = middle + 1; else high = middle;
  }
  return low - 1 >= first ? low - 1 : -1;
}

const STATES = ["idle", "compute", "wait", "reduce"];

// What the task is at: 0 not begun, 1 compute, 2 waiting, 3 reduce, 4 done.
function stateOf(run, i, tick) {
  if (tick < run.computeStart[i]) return 0;
  if (tick < run.computeEnd[i]) return 1;
  if (tick < run.reduceStart[i]) return 2;
  return tick < run.reduceEnd[i] ? 3 : 4;
}

// The tasks an SM is busy with: one, or with overlap a compute and a reduce.
function current(run, sm, tick) {
  const found = [];
  for (let i = taskAt(run, sm, tick); i >= run.begin[sm] && i >= 0; --i) {
    const state = stateOf(run, i, tick);
    if (state === 4) break;
    // Behind an earlier reduce of its own SM a task does not wait for a rank yet.
    found.push({ task: i, state });
  }
  return found;
}

// The task whose add comes before task i's in their row, or -1.
function predecessor(run, i) {
  if (run.rank[i] === 0 || run.reduceStart[i] === run.reduceEnd[i]) return -1;
  if (!run.byRank) {
    run.byRank = new Map();
    for (let k = 0; k < run.count; ++k)
      if (run.reduceStart[k] !== run.reduceEnd[k]) run.byRank.set(run.head[k] + ":" + run.q[k] + ":" + run.rank[k], k);
  }
  return run.byRank.get(run.head[i] + ":" + run.q[i] + ":" + (run.rank[i] - 1)) ?? -1;
}

function smOf(run, i) {
  let low = 0, high = run.sms;
  while (low + 1 < high) {
    const middle = (low + high) >> 1;
    if (run.begin[middle] <= i) low = middle; else high = middle;
  }
  return low;
}

// Ticks as the unit's number, at most four places.
function timeText(run, ticks) { return String(+(ticks / run.ticks).toFixed(4)); }

function facts(run, i) {
  const time = ticks => timeText(run, ticks);
  const sm = smOf(run, i);
  let text = `${run.name}: head ${run.head[i]}, q ${run.q[i]}, kv ${run.kv[i]} on SM ${sm}` +
    (run.flags[i] & 4 ? " (second pass)" : "") +
    `. Compute ${time(run.computeStart[i])} to ${time(run.computeEnd[i])} ${run.unit}.`;
  if (run.reduceStart[i] === run.reduceEnd[i]) return text;
  const before = predecessor(run, i);
  const own = i > run.begin[sm] ? run.reduceEnd[i - 1] : 0;
  const waited = run.reduceStart[i] - Math.max(run.computeEnd[i], own);
  if (waited > 0) {
    text += ` Waited ${time(waited)} ${run.unit}` +
      (before >= 0 ? ` for kv ${run.kv[before]} on SM ${smOf(run, before)} (rank ${run.rank[before]})` : "") + ".";
  } else if (before >= 0) {
    text += ` No wait: kv ${run.kv[before]} (rank ${run.rank[before]}) had added at ${time(run.reduceEnd[before])}.`;
  }
  return text + ` Reduce ${time(run.reduceStart[i])} to ${time(run.reduceEnd[i])} ${run.unit}, rank ${run.rank[i]}.` +
    (run.flags[i] & 3 ? " On the critical path." : "");
}

// All moments at which something begins or ends in some run, in units, ascending.
function allSteps(runs) {
  let total = 0;
  for (const run of runs) total += 4 * run.count;
  const times = new Float64Array(total + 1);
  let k = 1;
  for (const run of runs)
    for (const name of ["computeStart", "computeEnd", "reduceStart", "reduceEnd"])
      for (let i = 0; i < run.count; ++i) times[k++] = run[name][i] / run.ticks;
  times.sort();
  let kept = 0;
  for (let i = 0; i < times.length; ++i)
    if (i === 0 || times[i] - times[kept - 1] > 1e-9 * times[times.length - 1]) times[kept++] = times[i];
  return times.slice(0, kept);
}
