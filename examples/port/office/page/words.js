"use strict";
// How the board says things. What ships send of themselves is hostile input: it is only ever set as text, and without the
// characters that would turn a line around, break it, or stand on top of each other.

const UNSEEN = /[\u0000-\u001f\u007f-\u009f\u00ad\u061c\u180e\u200b-\u200f\u2028-\u202e\u2060-\u206f\ufeff\ufff9-\ufffb]/g;
const PILED = /(\p{M}{2})\p{M}+/gu;

/** A text from outside on one line, of at most `most` signs; what may not be shown leaves a mark. */
function plain(text, most = 60) {
  const signs = [...String(text ?? "").slice(0, 4 * most).replace(UNSEEN, "\ufffd").replace(PILED, "$1")];
  return signs.length > most ? `${signs.slice(0, most - 1).join("")}…` : signs.join("");
}

/** What a ship is called: she may have no name that can be shown. */
const nameOf = (ship) => ship.label ?? (plain(ship.name, 40).trim() || `MMSI ${plain(ship.mmsi, 12)}`);

/** A name as an element that no name beside it can turn around. */
const isolated = (text) => element("bdi", { className: "name" }, text);

/** A ship as a button that opens her. */
function shipButton(ship) {
  return element("button", { type: "button", className: "link", onclick: () => openShip(ship.mmsi, true) }, isolated(nameOf(ship)));
}

/** The verdict: "allowed" only where the server says so and nothing speaks against it. */
function statusOf(ship) {
  if (ship.verdict) return ship.verdict; // of a ship as it is kept
  if (ship.status === "restricted" || (ship.failed || []).length) return "restricted";
  return ship.status === "allowed" && !(ship.missing || []).length ? "allowed" : "unknown";
}

const COUNTS = new Intl.NumberFormat("en"); // made once: that takes longer than what it is for
const DAYS = new Intl.DateTimeFormat("en-GB", { day: "numeric", month: "long", year: "numeric", timeZone: "UTC" });
const SIGNS = { restricted: "✗", unknown: "?", allowed: "✓" };

/** The verdict as a sign and a word; once nothing comes any more, as what it was. */
function verdictTag(status) {
  return element("span", { className: `tag ${status}` },
    element("span", { "aria-hidden": "true" }, `${SIGNS[status]} `), element("span", { className: "was" }, "was "), status);
}

/** A value with its unit, as the server gives it: a text, a number or nothing. */
function amount(value, most = 30) {
  if (value === null || value === undefined || value === "") return "–";
  return typeof value === "number" ? String(Math.round(value * 100) / 100) : plain(value, most);
}

const counted = (n) => COUNTS.format(n);
const many = (n, one, more = `${one}s`) => `${counted(n)} ${n === 1 ? one : more}`;

const reasonOf = (ship) => ship.failed[0] || null;

/** Why a ship has her verdict, in a line. */
function whyOf(ship) {
  const [reason] = ship.failed;
  if (reason) {
    const more = ship.failed.length > 1 ? ` (and ${ship.failed.length - 1} more)` : "";
    return `${plain(reason.because || reason.rule, 120)}${more}`;
  }
  if (ship.missing.length) return `not known: ${plain(missingOf(ship).join(", "), 120)}`;
  return statusOf(ship) === "unknown" ? "not known" : "";
}

const missingOf = (ship) => [...new Set(ship.missing.flatMap((each) => each.what))];

// ---------------------------------------------------------------------------------------------------------------- time

const instant = (text) => (typeof text === "number" ? text : Date.parse(text ?? ""));
const isoOf = (at) => new Date(at).toISOString().replace(".000", "");
const clockOf = (at) => (Number.isFinite(at) ? new Date(at).toISOString().slice(11, 19) : "–");
const minuteOf = (text) => clockOf(instant(text)).slice(0, 5);
const dayOf = (at) => (Number.isFinite(at) ? DAYS.format(at) : "–");

/** A time as hours and minutes, with the day where that is not the day that is shown. */
function timeOf(text, shown = board.now) {
  const at = instant(text);
  if (!Number.isFinite(at)) return "–";
  return new Date(at).toISOString().slice(0, 10) === new Date(shown).toISOString().slice(0, 10) ? minuteOf(text) : `${dayOf(at)}, ${minuteOf(text)}`;
}

/** How long something takes or has been, in the largest unit that tells, and the one below. */
function lasting(seconds) {
  const whole = Math.max(0, Math.round(seconds));
  if (whole < 60) return `${whole} s`;
  if (whole < 3600) return `${Math.floor(whole / 60)} min`;
  const [hours, minutes] = [Math.floor(whole / 3600), Math.floor((whole % 3600) / 60)];
  if (hours < 48) return minutes ? `${hours} h ${minutes} min` : `${hours} h`;
  return `${Math.floor(hours / 24)} days`;
}

/** How long ago a reading was, at the moment that is shown. */
function ageOf(seen) {
  const at = instant(seen);
  return Number.isFinite(at) ? `${lasting((board.now - at) / 1000)} ago` : "never";
}

/** The next change that the forecasts foresee, in a sentence; `looked` is why nothing can be foreseen, or whether it was tried. */
function nextOf(next, looked) {
  if (typeof looked === "string") return `Not foreseen under these rules: ${plain(looked, 200)}.`;
  if (!next) return looked === false ? "What lies ahead is not worked out yet." : "No change is foreseen.";
  const why = next.why || next.rule ? `: ${plain(next.why || next.rule, 200)}` : "";
  return `Foreseen: ${plain(next.status, 20)} from ${timeOf(next.at)}${why}`;
}
