// SPDX-License-Identifier: GPL-3.0-or-later
// Plays a clip of segments of one second, each in two encodings. It begins, and begins again after
// a standstill, when BUFFER_S seconds are there. Two segments are asked for at a time, so that the
// link does not stand still between them. The encoding of the next one is the best of which ENOUGH
// of its rate is there: the rate at which segments have come is a moving average of bits over one of
// time, and what is lacking comes from the buffer. The first MEASURED segments have the best
// encoding. What happened goes to /log, times in seconds since the page was asked for.
const BUFFER_S = 10, LENGTH_S = 90, AHEAD_S = 30, KEPT = 0.8, ENOUGH = 0.9;
const MEASURED = 4, AT_A_TIME = 2;
const RATES = [350, 100];  // kbit/s, the better one first
const speed = Number(new URLSearchParams(location.search).get("speed") || 1);
const events = [], waiting = [];  // of the video; pictures that have come: {at, picture}
const come = new Map();  // second -> pictures of a segment that waits for an earlier one
let next = 0, under = 0, last = 0;  // segment to ask for, how many are asked for, latest arrival
let bits = 0, busy = 0, arrived = 0;
let loaded = 0, shown = 0, playing = false, level = null, stoodSince = null;
let clock = null, clip = 0;  // when playing began or went on, and the second of the clip then

const now = () => performance.now() / 1000;
const say = text => { document.getElementById("said").textContent = text; };

function note(what, more) {
  events.push(Object.assign({t_s: Math.round(now() * 1000) / 1000, what: what}, more));
  navigator.sendBeacon("/log", JSON.stringify({events: events}));
}

function chosen() {
  if (arrived < MEASURED) return RATES[0];
  return RATES.find(r => ENOUGH * r * 1000 <= bits / busy) || RATES[RATES.length - 1];
}

function measure(size) {
  bits = KEPT * bits + size * 8;
  busy = KEPT * busy + now() - last;
  last = now();
  arrived += 1;
}

async function load() {
  while (next < LENGTH_S) {
    if (next - shown > AHEAD_S) { await new Promise(r => setTimeout(r, 200 / speed)); continue; }
    const second = next++, kbps = chosen();
    if (under++ === 0) last = now();
    const data = await (await fetch(`segment/${kbps}/${second}`)).arrayBuffer();
    under -= 1;
    measure(data.byteLength);
    const view = new DataView(data), count = view.getUint32(0), pictures = [];
    let at = 4 * (1 + count);
    for (let n = 0; n < count; n++) {
      const size = view.getUint32(4 * (1 + n));
      const picture = await createImageBitmap(new Blob([data.slice(at, at + size)], {type: "image/png"}));
      pictures.push({at: second + n / count, picture: picture, kbps: kbps});
      at += size;
    }
    come.set(second, pictures);
    for (; come.has(loaded); loaded++) {
      waiting.push(...come.get(loaded));
      come.delete(loaded);
    }
  }
}

function show() {
  const canvas = document.getElementById("screen");
  const enough = loaded - shown >= Math.min(BUFFER_S, LENGTH_S - shown);
  if (!playing && enough && loaded > 0) {
    playing = true;
    clock = now();
    clip = shown;
    if (stoodSince === null) note("start");
    else note("resume", {stood_s: Math.round((now() - stoodSince) * 1000) / 1000});
    say("");
  }
  if (playing) {
    const second = clip + (now() - clock) * speed;
    shown = Math.min(second, loaded);
    let last = null;
    while (waiting.length && waiting[0].at <= second) last = waiting.shift();
    if (last) {
      canvas.width = last.picture.width;
      canvas.height = last.picture.height;
      canvas.getContext("2d").drawImage(last.picture, 0, 0);
      if (last.kbps !== level) { level = last.kbps; note("level", {kbps: level}); }
    }
    if (second >= LENGTH_S && loaded >= LENGTH_S) { note("end"); say("The end."); return; }
    if (second >= loaded) {
      playing = false;
      stoodSince = now();
      note("rebuffer", {at_s: Math.round(shown * 100) / 100});
      say("Buffering ...");
    }
  }
  setTimeout(show, 20);
}

note("open");
for (let n = 0; n < AT_A_TIME; n++) load().catch(() => note("failed"));
show();
