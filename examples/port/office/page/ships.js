"use strict";
// The list of ships, by urgency. It has the first rows only, and of those writes anew only what has changed.

const ROWS = 100;
const URGENCY = { restricted: 0, unknown: 2, allowed: 3 };
const listed = { most: ROWS, rows: new Map(), ages: new Map() };

/** How urgent a ship is, smallest first: restricted, foreseen to become so, unknown, allowed. */
function urgencyOf(ship) {
  const status = statusOf(ship);
  if (status !== "restricted" && ship.next && ship.next.status === "restricted") return 1;
  return URGENCY[status];
}

/** A ship as it is kept: with what the list and the map need of her again and again. */
function whole(sent) {
  const ship = { ...sent, failed: sent.failed || [], missing: sent.missing || [] };
  ship.label = nameOf(sent);
  ship.urgency = urgencyOf(ship);
  ship.order = (ship.urgency === 1 ? instant(ship.next.at) : -instant(ship.since)) || 0;
  return ship;
}

/** The order of two ships: of those foreseen to become restricted the soonest first, of others what changed last. */
const moreUrgent = (a, b) => a.urgency - b.urgency || a.order - b.order || (a.label < b.label ? -1 : 1);

/** The ships that the filter lets through, the most urgent first. */
function chosenShips() {
  const text = by("search").value.trim().toLowerCase();
  const verdict = by("verdicts").value;
  const found = [];
  for (const ship of board.ships.values()) {
    if (verdict && statusOf(ship) !== verdict) continue;
    if (text && !nameOf(ship).toLowerCase().includes(text) && !String(ship.mmsi).includes(text)) continue;
    found.push(ship);
  }
  return found.sort(moreUrgent);
}

function cell(label, ...children) {
  return element("td", { "data-label": label }, ...children);
}

function rowOf(ship) {
  const reason = reasonOf(ship);
  const age = element("span", {}, ageOf(ship.seen));
  listed.ages.set(ship.mmsi, age);
  const next = ship.urgency === 1 ? [element("span", { className: "next" }, nextOf(ship.next))] : [];
  const number = (label, value) => Object.assign(cell(label, amount(value)), { className: reason ? "number" : "number none" });
  const row = element("tr", { className: statusOf(ship) },
    element("th", { scope: "row" }, shipButton(ship)),
    cell("Verdict", verdictTag(statusOf(ship))),
    cell("Why", element("span", {}, whyOf(ship)), ...next),
    number("Value", reason && reason.value), number("Limit", reason && reason.limit), number("Margin", reason && reason.margin),
    cell("Last report", age));
  if (ship.mmsi === board.chosen) row.setAttribute("aria-current", "true");
  return row;
}

/** What of a ship is seen in her row: if it is the same, the row stays. */
const seenOf = (ship) => JSON.stringify([ship.name, ship.status, ship.failed, ship.missing, ship.next, ship.seen, ship.mmsi === board.chosen]);

function showList() {
  const ships = chosenShips();
  const kept = new Map();
  const body = by("rows");
  const focused = body.contains(document.activeElement) ? document.activeElement.closest("tr") : null;
  let place = body.firstElementChild;
  for (const ship of ships.slice(0, listed.most)) {
    const seen = seenOf(ship);
    let one = listed.rows.get(ship.mmsi);
    if (!one || one.seen !== seen) {
      const row = rowOf(ship);
      if (one) {
        if (one.row === place) place = row;
        one.row.replaceWith(row);
        if (one.row === focused) row.querySelector("button").focus({ preventScroll: true });
        if (one.status !== statusOf(ship)) row.classList.add("changed");
      }
      one = { row, seen, status: statusOf(ship) };
    }
    if (one.row === place) place = place.nextElementSibling;
    else moveBefore(body, one.row, place);
    kept.set(ship.mmsi, one);
  }
  for (const [mmsi, one] of listed.rows) {
    if (kept.has(mmsi)) continue;
    one.row.remove();
    listed.ages.delete(mmsi);
  }
  listed.rows = kept;
  by("more").hidden = ships.length <= listed.most;
  const of = ships.length === board.ships.size ? "" : ` of ${board.ships.size.toLocaleString("en")}`;
  const first = ships.length > listed.most ? `the first ${listed.most} of ` : "";
  setText("shown", ships.length ? `${first}${many(ships.length, "ship")}${of}` : board.ships.size ? "No ship is like that." : "There are no ships.");
}

/** Puts a row where it belongs; the focus stays in it. */
function moveBefore(body, row, place) {
  const had = row.contains(document.activeElement) ? document.activeElement : null;
  body.insertBefore(row, place);
  if (had) had.focus({ preventScroll: true });
}

function showAges() {
  for (const [mmsi, age] of listed.ages) {
    const ship = board.ships.get(mmsi);
    if (ship) write(age, ageOf(ship.seen));
  }
}

function showCounts() {
  const counts = { restricted: 0, unknown: 0, allowed: 0 };
  for (const ship of board.ships.values()) counts[statusOf(ship)] += 1;
  const said = Object.entries(counts).map(([status, count]) => `${status} ${count}`).join();
  if (by("counts").dataset.said === said) return;
  by("counts").dataset.said = said;
  by("counts").replaceChildren(...Object.entries(counts).map(([status, count]) => element("div", { className: status },
    element("dt", {}, element("span", { "aria-hidden": "true" }, `${SIGNS[status]} `), status), element("dd", {}, count.toLocaleString("en")))));
}

/** Writes a text only where it differs: what is not touched costs nothing, and is not read out again. */
function write(one, text) {
  if (one.textContent !== text) one.textContent = text;
}

const setText = (id, text) => write(by(id), text);

by("more").addEventListener("click", () => {
  listed.most += ROWS;
  showList();
});
for (const [id, kind] of [["search", "input"], ["verdicts", "change"]]) {
  by(id).addEventListener(kind, () => {
    listed.most = ROWS;
    showList();
  });
}
by("filter").addEventListener("submit", (submitted) => submitted.preventDefault());
