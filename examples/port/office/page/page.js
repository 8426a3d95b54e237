"use strict";
// The board: what is so now, or was at a moment of the day. Changes come in a stream and are shown once a frame.

const empty = () => ({ ships: new Map(), rules: [], berths: [], sources: [], pack: { changes: [] }, clock: null });
const board = { ...empty(), now: 0, at: null, chosen: null, alive: null, why: null };
const live = empty(); // what is so now, also while another moment is shown
const due = { parts: new Set(), frame: null, slow: null, event: "" };
const panels = [["rules", showRules], ["berths", showBerths], ["packs", showPacks], ["sources", showSources]]
  .map(([id, draw]) => ({ section: by(id).closest(".below"), draw, inView: false, isOld: false })); // those below the ships

const ask = (question, draft) => answered(question, draft, "Nobody answers. If the board was ended, start it again.");

async function trying(action) {
  try {
    await action();
    showProblem("");
  } catch (error) {
    showProblem(error.message);
  }
}

function showProblem(text) {
  by("problem").hidden = !text;
  setText("problem", plain(text, 500));
}

// --------------------------------------------------------------------------------------------------------- what is shown

/** Says that parts of the page are to be drawn: soon, at a frame; the panels, which hold many ships, when it is their turn. */
function changed(...parts) {
  parts.forEach((part) => due.parts.add(part));
  due.frame ??= requestAnimationFrame(show);
}

function show() {
  due.frame = null;
  const parts = due.parts;
  due.parts = new Set();
  if (parts.has("clock")) showClock();
  if (parts.has("list")) {
    showList();
    showCounts();
  }
  if (parts.has("map")) drawMap();
  if (parts.has("ship")) showShip();
  if (parts.has("panels")) {
    for (const panel of panels) panel.isOld = true;
    awaitPanels();
  }
  document.body.dataset.event = due.event; // the last event that can be seen
}

/** Has old panels drawn after a while, longer where nobody looks; not all pages of a machine at one moment. */
function awaitPanels() {
  due.slow ??= setTimeout(showNextPanels, (panels.some(({ inView }) => inView) ? 1_000 : 2_500) * (0.75 + Math.random() / 2));
}

/** Draws the panels in view, what warns of old readings, and of the others the one that has waited longest: each costs a frame. */
function showNextPanels() {
  due.slow = null;
  const old = panels.filter(({ isOld }) => isOld);
  const seen = old.filter(({ inView, draw }) => inView || draw === showSources);
  const next = old.filter((panel) => !seen.includes(panel)).slice(0, 1);
  showPanels([...seen, ...next]);
  for (const panel of next) panels.push(...panels.splice(panels.indexOf(panel), 1));
  if (panels.some(({ isOld }) => isOld)) awaitPanels();
}

function showPanels(wanted = panels) {
  for (const panel of wanted) {
    panel.draw();
    panel.isOld = false;
  }
}

function showAll() {
  listShips();
  redraw();
  changed("clock", "list", "map", "ship", "panels");
  showPanels();
}

function showClock() {
  const isPast = board.at !== null;
  const why = stoppedBy();
  const stopped = Boolean(why) && !isPast;
  setText("now", board.now ? `${dayOf(board.now)}, ${clockOf(board.now)} UTC` : "not known yet");
  by("now").dateTime = board.now ? isoOf(board.now) : "";
  setText("mode", isPast ? "in the past" : why ? "stopped" : board.alive ? "live" : "connecting …");
  document.body.classList.toggle("is-past", isPast);
  document.body.classList.toggle("is-stopped", stopped);
  by("stopped").hidden = !why;
  if (why) setText("stopped", `${why} What you see is as it was at ${clockOf(instant(live.clock.now))} UTC, and may be wrong by now.`);
  by("past").hidden = !isPast;
  const back = live.clock ? (instant(live.clock.now) - board.now) / 1000 : 0;
  setText("past", isPast ? `You look at ${timeOf(isoOf(board.now), instant(live.clock.now))}, ${lasting(back)} before now. It does not move.` : "");
  by("to-now").disabled = !isPast;
  if (live.clock) {
    by("slider").disabled = by("moment").disabled = false;
    by("slider").min = String(instant(live.clock.start) / 1000);
    by("slider").max = String(Math.ceil(instant(live.clock.now) / 1000));
    if (document.activeElement !== by("slider") || !isPast) by("slider").value = String(board.now / 1000);
    by("slider").setAttribute("aria-valuetext", `${clockOf(board.now)}${isPast ? "" : ", now"}`);
    if (document.activeElement !== by("moment")) by("moment").value = isoOf(board.now).slice(0, 19);
  }
  showAges();
}

// ------------------------------------------------------------------------------------------------------------ what comes

/** A board as it is answered, as what is kept of it. */
function kept(answer) {
  const ships = new Map(answer.ships.map((ship) => [ship.mmsi, whole(ship)]));
  return { ships, rules: answer.rules, berths: answer.berths, sources: answer.sources, pack: { changes: [], ...answer.pack }, clock: answer.clock };
}

function showLive() {
  Object.assign(board, live, { at: null, now: instant(live.clock.now) });
}

const TAKES = {
  clock(clock) {
    live.clock = { ...live.clock, ...clock };
    if (board.at === null) board.now = instant(live.clock.now);
    changed("clock");
    if (board.chosen !== null && board.at === null) changed("ship");
  },
  ship(sent) {
    const ship = whole(sent);
    const before = live.ships.get(ship.mmsi);
    live.ships.set(ship.mmsi, ship);
    const isNew = !before || statusOf(before) !== statusOf(ship);
    if (board.at !== null) return;
    relist(before, ship);
    chart.moved.add(ship.mmsi);
    if (isNew && before) announce(ship);
    if (ship.mmsi === board.chosen && (isNew || JSON.stringify([before.failed, before.next]) !== JSON.stringify([ship.failed, ship.next]))) askShipSoon();
    changed("list", "map", "panels");
    if (ship.mmsi === board.chosen) changed("ship");
  },
  gone({ mmsi }) {
    const before = live.ships.get(mmsi);
    live.ships.delete(mmsi);
    if (board.at !== null) return;
    relist(before, null);
    chart.moved.add(mmsi);
    changed("list", "map", "panels", "ship");
  },
  source(source) {
    const place = live.sources.findIndex((each) => each.source === source.source);
    if (place < 0) live.sources.push(source);
    else live.sources[place] = source;
    changed("panels");
  },
  pack(pack) {
    live.pack = { ...live.pack, ...pack };
    trying(async () => takeBoard(await ask("board", { at: null }))); // its rules are others
  },
  board: takeBoard,
};

function takeBoard(answer) {
  Object.assign(live, kept(answer));
  if (board.at !== null) return;
  showLive();
  showAll();
}

function take(kind, data, id) {
  due.event = id;
  if (Object.hasOwn(TAKES, kind)) TAKES[kind](data);
  changed();
}

const STOPS = {
  refused: "The board does not take this address any more: open the one that it printed when it started.",
  silent: "The board is silent; the page tries again by itself.",
  gone: "The board does not answer; the page tries again by itself.",
  ended: "The stream of news has ended; the page tries again by itself.",
};

/** Why nothing new comes, in words; "" if it does. */
function stoppedBy() {
  if (board.alive === false) return STOPS[board.why];
  const { clock } = live;
  if (!board.alive || !clock || clock.live) return "";
  if (clock.end && instant(clock.now) >= instant(clock.end)) return "The day is over.";
  if (clock.lost) return `The store cannot be read: ${plain(clock.lost, 200)}.`;
  return Number.isFinite(clock.quiet_s) ? `Nothing has been judged for ${lasting(clock.quiet_s)}.` : "Nothing has been judged yet.";
}

function setAlive(alive, why) {
  if (alive && board.alive === false) say("News come again.");
  board.alive = alive;
  board.why = why;
  changed("clock");
}

// ---------------------------------------------------------------------------------------------------- what is read aloud

const news = { ships: new Map(), timer: null };
const PACE = 5_000; // milliseconds between two announcements, whatever comes

function say(text) {
  by("said").textContent = text;
}

/** Announces changes of verdicts in one sentence, and not more often than one can hear. */
function announce(ship) {
  news.ships.set(ship.mmsi, ship);
  news.timer ??= setTimeout(() => {
    news.timer = null;
    const ships = [...news.ships.values()].sort((a, b) => urgencyOf(a) - urgencyOf(b));
    news.ships.clear();
    const rest = ships.length > 3 ? `; and ${ships.length - 3} more` : "";
    say(`${ships.slice(0, 3).map((one) => `${nameOf(one)}: ${statusOf(one)}`).join("; ")}${rest}.`);
  }, PACE);
}

// ------------------------------------------------------------------------------------------------------- setting it back

const back = { asked: 0, timer: null };

/** Shows the board as it was at a moment; at or after now, as it is. */
function setBack(seconds) {
  clearTimeout(back.timer);
  if (!live.clock || !Number.isFinite(seconds)) return;
  const [first, now] = [instant(live.clock.start), instant(live.clock.now)];
  if (seconds * 1000 >= now) {
    toNow();
    return;
  }
  board.at = isoOf(Math.max(first, seconds * 1000));
  board.now = instant(board.at);
  changed("clock");
  back.asked += 1;
  const number = back.asked;
  back.timer = setTimeout(() => trying(async () => {
    const answer = await ask("board", { at: board.at });
    if (number !== back.asked || board.at === null) return; // another moment, meanwhile
    Object.assign(board, kept(answer), { now: instant(board.at) });
    chosen.story = null;
    showAll();
    askShip();
  }), 150);
}

function toNow() {
  clearTimeout(back.timer);
  back.asked += 1;
  showLive();
  chosen.story = null;
  showAll();
  askShip();
}

by("slider").addEventListener("input", () => setBack(Number(by("slider").value)));
by("moment").addEventListener("change", () => setBack(Date.parse(`${by("moment").value}Z`) / 1000));
by("to-now").addEventListener("click", () => {
  toNow();
  by("slider").focus();
});
by("times").addEventListener("submit", (submitted) => submitted.preventDefault());

// -------------------------------------------------------------------------------------------------------------- starting

new ResizeObserver(measure).observe(by("map"));
const looking = new IntersectionObserver((seen) => {
  for (const { target, isIntersecting } of seen) panels.find(({ section }) => section === target).inView = isIntersecting;
  showPanels(panels.filter(({ inView, isOld }) => inView && isOld));
});
for (const { section } of panels) looking.observe(section);

async function start() {
  for (;;) {
    try {
      const answer = await ask("board", { at: null });
      takeBoard(answer);
      keepStream(answer.last, take, setAlive);
      showProblem("");
      return;
    } catch (error) {
      showProblem(error.message);
      if (error.status === 403) return;
      await new Promise((done) => setTimeout(done, 2_000));
    }
  }
}

start();
