"use strict";
// The list of ships, by urgency. It has the first rows only, and of those writes anew only what has changed.

const ROWS = 20; // at first about a screen, and as many more each time that is asked for
const URGENCY = { restricted: 0, unknown: 2, allowed: 3 };
const listed = { most: ROWS, ships: [], passes: () => true, counts: {} };

/** How urgent a ship is, smallest first: restricted, foreseen to become so, unknown, allowed. */
function urgencyOf(ship) {
  const status = statusOf(ship);
  if (status !== "restricted" && ship.next && ship.next.status === "restricted") return 1;
  return URGENCY[status];
}

/** A ship as it is kept: with what the list and the map need of her again and again. */
function whole(sent) {
  const ship = { ...sent, failed: sent.failed || [], missing: sent.missing || [], label: null, verdict: null, looks: null };
  ship.label = nameOf(ship);
  ship.verdict = statusOf(ship);
  ship.urgency = urgencyOf(ship);
  ship.order = (ship.urgency === 1 ? instant(ship.next.at) : -instant(ship.since)) || 0;
  return ship;
}

/** The order of two ships: of those foreseen to become restricted the soonest first, of others what changed last. */
const moreUrgent = (a, b) => a.urgency - b.urgency || a.order - b.order || (a.label < b.label ? -1 : a.label > b.label ? 1 : a.mmsi - b.mmsi);

/** Sorts the ships that the filter lets through, the most urgent first, and counts all. */
function listShips() {
  const text = by("search").value.trim().toLowerCase();
  const verdict = by("verdicts").value;
  listed.passes = (ship) => (!verdict || statusOf(ship) === verdict)
    && (!text || nameOf(ship).toLowerCase().includes(text) || String(ship.mmsi).includes(text));
  listed.ships = [...board.ships.values()].filter(listed.passes).sort(moreUrgent);
  listed.counts = { restricted: 0, unknown: 0, allowed: 0 };
  for (const ship of board.ships.values()) listed.counts[statusOf(ship)] += 1;
}

/** Where a ship stands in the list, or would. */
function placeOf(ship) {
  let [low, high] = [0, listed.ships.length];
  while (low < high) {
    const middle = (low + high) >> 1;
    if (moreUrgent(listed.ships[middle], ship) < 0) low = middle + 1;
    else high = middle;
  }
  return low;
}

/** Puts a ship where she belongs now, all others stay. Without `before` she is new, without `after` she is gone. */
function relist(before, after) {
  if (before) listed.counts[statusOf(before)] -= 1;
  if (before && listed.passes(before)) listed.ships.splice(placeOf(before), 1);
  if (after) listed.counts[statusOf(after)] += 1;
  if (after && listed.passes(after)) listed.ships.splice(placeOf(after), 0, after);
}

function cell(label, ...children) {
  return element("td", { "data-label": label }, ...children);
}

function rowOf(ship) {
  const reason = reasonOf(ship);
  const next = ship.urgency === 1 ? [element("span", { className: "next" }, nextOf(ship.next))] : [];
  const number = (label, value) => Object.assign(cell(label, amount(value)), { className: reason ? "number" : "number none" });
  const row = element("tr", { className: statusOf(ship) },
    element("th", { scope: "row" }, shipButton(ship)),
    cell("Verdict", verdictTag(statusOf(ship))),
    cell("Why", element("span", {}, whyOf(ship)), ...next),
    number("Value", reason && reason.value), number("Limit", reason && reason.limit), number("Margin", reason && reason.margin),
    cell("Last report", ageOf(ship.seen)));
  if (ship.mmsi === board.chosen) row.setAttribute("aria-current", "true");
  const before = rowsOf("rows").get(ship.mmsi);
  if (before && !before.row.classList.contains(statusOf(ship))) row.classList.add("changed");
  return row;
}

/** What of a ship is seen in her row: if it is the same, the row stays. */
function looksOf(ship) {
  ship.looks ??= JSON.stringify([ship.name, ship.status, ship.failed, ship.missing, ship.next, ship.seen]);
  return ship.mmsi === board.chosen ? `chosen ${ship.looks}` : ship.looks;
}

function showList() {
  const { ships, most } = listed;
  renew("rows", ships.slice(0, most).map((ship) => [ship.mmsi, looksOf(ship), ship]), rowOf);
  by("more").hidden = ships.length <= most;
  const of = ships.length === board.ships.size ? "" : ` of ${counted(board.ships.size)}`;
  const first = ships.length > most ? `the first ${most} of ` : "";
  setText("shown", ships.length ? `${first}${many(ships.length, "ship")}${of}` : board.ships.size ? "No ship is like that." : "There are no ships.");
}

/** The rows that a body has now, by their keys. */
function rowsOf(id) {
  if (!rowsOf.known.has(id)) rowsOf.known.set(id, new Map());
  return rowsOf.known.get(id);
}
rowsOf.known = new Map();

/** Gives a body the rows of `lines`, in their order: each a key, how it looks, and what `made` makes it of.
 *
 * A row that looks as before stays, so that a change costs its own row and not all; and the focus stays where it was.
 */
function renew(id, lines, made) {
  const [body, rows] = [by(id), rowsOf(id)];
  const focused = body.contains(document.activeElement) ? document.activeElement : null;
  const home = focused && [...rows.entries()].find(([, one]) => one.row.contains(focused));
  const buttons = home ? [...home[1].row.querySelectorAll("button")] : [];
  const wanted = new Set(lines.map(([key]) => key));
  for (const [key, one] of rows) {
    if (wanted.has(key)) continue;
    one.row.remove();
    rows.delete(key);
  }
  let place = body.firstElementChild;
  for (const [key, looks, subject] of lines) {
    let one = rows.get(key);
    if (!one || one.looks !== looks) {
      const row = made(subject);
      if (one && one.row === place) place = row;
      if (one) one.row.replaceWith(row);
      one = { row, looks };
      rows.set(key, one);
    }
    if (place && place !== one.row && place.nextElementSibling === one.row) {
      place.remove(); // it comes further below: that moves one row, not all between
      place = one.row;
    }
    if (place === one.row) place = place.nextElementSibling;
    else body.insertBefore(one.row, place);
  }
  if (!focused || document.activeElement === focused) return;
  const again = home && rows.has(home[0]) ? [...rows.get(home[0]).row.querySelectorAll("button")] : [...body.querySelectorAll("button")];
  const same = again.includes(focused) ? focused : again.find((button) => button.textContent === focused.textContent);
  const one = same || again[Math.min(buttons.indexOf(focused), again.length - 1)];
  if (one) one.focus({ preventScroll: true });
}

function showAges() {
  for (const [mmsi, { row }] of rowsOf("rows")) {
    const ship = board.ships.get(mmsi);
    if (ship) write(row.lastElementChild, ageOf(ship.seen));
  }
}

function showCounts() {
  const said = Object.entries(listed.counts).map(([status, count]) => `${status} ${count}`).join();
  if (by("counts").dataset.said === said) return;
  by("counts").dataset.said = said;
  by("counts").replaceChildren(...Object.entries(listed.counts).map(([status, count]) => element("div", { className: status },
    element("dt", {}, element("span", { "aria-hidden": "true" }, `${SIGNS[status]} `), status), element("dd", {}, counted(count)))));
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
    listShips();
    showList();
  });
}
by("filter").addEventListener("submit", (submitted) => submitted.preventDefault());
