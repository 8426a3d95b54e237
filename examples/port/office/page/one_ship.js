"use strict";
// The chosen ship: her verdict and why, what the forecasts foresee, the day's clearance, and her verdicts so far.

const chosen = { asked: 0, opener: null, story: null, shown: "", waits: null };

/** Opens a ship, and goes there if `goes`. */
function openShip(mmsi, goes) {
  if (goes) chosen.opener = document.activeElement;
  if (board.chosen !== mmsi) chosen.story = null;
  board.chosen = mmsi;
  by("ship-panel").hidden = false;
  redraw();
  changed("list", "ship");
  showShip();
  if (goes) by("ship-heading").focus();
  askShip();
}

function closeShip() {
  const mmsi = board.chosen;
  board.chosen = null;
  chosen.story = null;
  by("ship-panel").hidden = true;
  redraw();
  changed("list");
  const row = rowsOf("rows").get(mmsi);
  if (chosen.opener && chosen.opener.isConnected) chosen.opener.focus();
  else if (row) row.row.querySelector("button").focus();
  else by("ships").focus();
}

async function askShip() {
  if (board.chosen === null) return;
  chosen.asked += 1;
  const number = chosen.asked;
  await trying(async () => {
    const story = await ask("ship", { mmsi: board.chosen, at: board.at });
    if (number !== chosen.asked) return; // another one is chosen, or another moment
    chosen.story = story;
    changed("ship");
  });
}

/** Asks again for what she has been through, a little after the last change: not for each of many. */
function askShipSoon() {
  clearTimeout(chosen.waits);
  chosen.waits = setTimeout(askShip, 1_000);
}

function facts(pairs) {
  const known = pairs.filter(([, value]) => value !== null && value !== "");
  return element("dl", { className: "facts" }, ...known.map(([name, value]) => element("div", {}, element("dt", {}, name), element("dd", {}, value))));
}

function reasonTable(ship) {
  if (!ship.failed.length) return null;
  const line = (each) => element("tr", {}, element("th", { scope: "row" }, isolated(plain(each.rule, 80)), each.because ? element("span", { className: "because" }, plain(each.because, 300)) : null),
    ...["value", "limit", "margin"].map((name) => element("td", { className: "number" }, amount(each[name]))));
  return element("table", { className: "reasons" },
    element("thead", {}, element("tr", {}, element("th", { scope: "col" }, "What forbids her"), ...["Value", "Limit", "Margin"].map((name) => element("th", { scope: "col", className: "number" }, name)))),
    element("tbody", {}, ...ship.failed.map(line)));
}

function missingList(ship) {
  if (!ship.missing.length) return null;
  return element("div", {}, element("h3", {}, "What is not known"), element("ul", { className: "list" },
    ...ship.missing.map((each) => element("li", {}, isolated(plain(each.rule, 80)), `: ${plain(each.what.join(", "), 200)}`))));
}

/** What of a verdict's change is said: the rules that failed, or what was missing. */
function changeOf(change) {
  const status = statusOf(change);
  const rules = status === "restricted" ? change.failed.map((each) => each.rule ?? each) : change.missing.flatMap((each) => each.what ?? [each]);
  const why = rules.length ? `: ${status === "unknown" ? "not known: " : ""}${plain([...new Set(rules)].join(", "), 200)}` : "";
  const pack = change.pack ? element("span", { className: "meta" }, ` rules ${plain(change.pack, 12)}`) : null;
  return element("li", {}, `${timeOf(change.time)} `, verdictTag(status), why, pack);
}

/** How old each reading was that her last verdict rests on, when it was given. */
function readingsOf(changes) {
  const read = changes.length ? changes[changes.length - 1].read || [] : [];
  if (!read.length) return null;
  const line = (each) => element("li", {}, `${plain(each.source, 30)} ${plain(each.key, 40)}: ${timeOf(each.last)}, ${lasting(each.age_s)} before`);
  return element("div", {}, element("h3", {}, "What her last verdict rests on"), element("ul", { className: "list" }, ...read.map(line)));
}

const MOST_CHANGES = 50;

function changesOf(changes) {
  if (!changes.length) return [element("p", { className: "hint" }, "None yet.")];
  const latest = changes.slice(-MOST_CHANGES).reverse();
  const rest = changes.length - latest.length;
  return [element("ol", { className: "list" }, ...latest.map(changeOf)), rest ? element("p", { className: "hint" }, `and ${rest} before`) : null];
}

function showShip() {
  if (board.chosen === null) return;
  const { story } = chosen;
  const ship = board.ships.get(board.chosen) || (story && story.ship && whole(story.ship));
  if (!ship) {
    setText("ship-heading", `MMSI ${plain(board.chosen, 12)}`);
    by("ship").replaceChildren(element("p", {}, "Nothing is known of her at this moment."));
    chosen.shown = "";
    return;
  }
  const seen = JSON.stringify([ship, story, board.at, Math.floor(board.now / 60_000)]);
  if (seen === chosen.shown) return; // what does not change stays, also under who reads it
  chosen.shown = seen;
  const heading = by("ship-heading");
  heading.replaceChildren(isolated(nameOf(ship)));
  const status = statusOf(ship);
  const course = Number.isFinite(ship.course) && ship.speed > 0.5 ? `, ${Math.round(ship.course)}°` : "";
  const next = story ? story.next : ship.next;
  by("ship").replaceChildren(...[
    element("p", { className: "verdict" }, verdictTag(status), ship.since ? ` since ${timeOf(ship.since)}` : ""),
    reasonTable(ship),
    missingList(ship),
    element("p", { className: next ? "foreseen" : "hint" }, nextOf(next, story && story.ship ? story.ship.foreseen : ship.foreseen)),
    facts([["MMSI", plain(ship.mmsi, 12)], ["Last report", ageOf(ship.seen)], ["Speed", Number.isFinite(ship.speed) ? `${short(ship.speed)} kn${course}` : "not known"],
      ["Lies at", ship.berth ? plain(ship.berth, 60) : null], ["Heads for", ship.heads_for ? plain(ship.heads_for, 60) : null]]),
    story ? element("div", {}, element("h3", {}, "The day's clearance"), story.day ? clearanceChart(ship, story.day) : element("p", { className: "hint" }, "It is not known: she is at no berth and bound for none, or her draught is not known.")) : element("p", { className: "hint" }, "Asking …"),
    story ? element("div", {}, element("h3", {}, "Verdicts so far"), ...changesOf(story.changes).filter((one) => one !== null)) : null,
    story ? readingsOf(story.changes) : null,
  ].filter((one) => one !== null));
}

by("ship-close").addEventListener("click", closeShip);
by("ship-panel").addEventListener("keydown", (key) => {
  if (key.key === "Escape") closeShip();
});
