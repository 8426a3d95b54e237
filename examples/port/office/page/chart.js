"use strict";
// The day's clearance of a ship: a line, her limit, the windows in which she is allowed, and the moment that is shown.

const SIZE = { height: 230, left: 46, right: 12, top: 22, bottom: 26 };

function drawn(tag, attributes, ...children) {
  const made = document.createElementNS("http://www.w3.org/2000/svg", tag);
  for (const [name, value] of Object.entries(attributes)) made.setAttribute(name, value);
  made.append(...children);
  return made;
}

/** A number as it is read off a chart. */
const short = (value) => String(Math.round(value * 100) / 100);

/** The windows in words, so that nobody needs the picture. */
function windowsOf(day) {
  if (!day.windows) return "Windows are not foreseen under these rules.";
  if (!day.windows.length) return "No further window today.";
  return `${many(day.windows.length, "window")}: ${day.windows.map(([from, to]) => `${minuteOf(from)} to ${minuteOf(to)}`).join(", ")}.`;
}

/** The chart and what it says in words; `ship` is whose it is. */
function clearanceChart(ship, day) {
  const times = day.times.map(instant);
  const known = day.clearance.map((value, place) => [times[place], value]).filter(([, value]) => Number.isFinite(value));
  if (!known.length) return element("p", {}, "Her clearance is not known.");
  const width = Math.max(300, Math.min(640, by("ship").clientWidth)); // its letters keep their size
  const { height, left, right, top, bottom } = SIZE;
  const [first, last] = [times[0], times[times.length - 1]];
  const values = [...known.map(([, value]) => value), ...(Number.isFinite(day.limit) ? [day.limit] : [])];
  const [low, high] = [Math.min(...values), Math.max(...values)];
  const room = (high - low || 1) * 0.12;
  const x = (at) => left + ((Math.min(last, Math.max(first, at)) - first) / (last - first || 1)) * (width - left - right);
  const y = (value) => top + (1 - (value - low + room) / (high - low + 2 * room)) * (height - top - bottom);
  const [lowest, at] = known.reduce((best, [time, value]) => (value < best[0] ? [value, time] : best), [Infinity, 0]);
  const picture = drawn("svg", { viewBox: `0 0 ${width} ${height}`, class: "clearance", role: "img", "aria-labelledby": "clearance-said" });
  for (const [from, to] of day.windows || []) {
    const [start, end] = [x(instant(from)), x(instant(to))];
    picture.append(drawn("rect", { class: "window", x: start, y: top, width: Math.max(1, end - start), height: height - top - bottom }));
    if (end - start > 44) picture.append(drawn("text", { x: (start + end) / 2, y: top - 6, "text-anchor": "middle" }, "window"));
  }
  const hour = 3_600_000;
  const each = hour * Math.max(1, Math.ceil((last - first) / hour / (width / 100)));
  for (let tick = Math.ceil(first / each) * each; tick <= last; tick += each) {
    picture.append(drawn("line", { class: "grid", x1: x(tick), x2: x(tick), y1: top, y2: height - bottom }));
    picture.append(drawn("text", { x: x(tick), y: height - 8, "text-anchor": "middle" }, minuteOf(tick)));
  }
  for (const value of [low, (low + high) / 2, high]) {
    picture.append(drawn("text", { x: left - 6, y: y(value) + 4, "text-anchor": "end" }, short(value)));
  }
  let line = "";
  let gap = true;
  day.clearance.forEach((value, place) => { // what is not known leaves a gap
    if (Number.isFinite(value)) line += `${gap ? "M" : "L"}${x(times[place]).toFixed(1)},${y(value).toFixed(1)}`;
    gap = !Number.isFinite(value);
  });
  picture.append(drawn("path", { class: "level", d: line }));
  if (Number.isFinite(day.limit)) {
    picture.append(drawn("line", { class: "limit", x1: left, x2: width - right, y1: y(day.limit), y2: y(day.limit) }));
    picture.append(drawn("text", { class: "limit", x: width - right, y: y(day.limit) - 5, "text-anchor": "end" }, `limit ${short(day.limit)} m`));
  }
  if (board.now >= first && board.now <= last) {
    picture.append(drawn("line", { class: "moment", x1: x(board.now), x2: x(board.now), y1: top, y2: height - bottom }));
  }
  const limit = Number.isFinite(day.limit) ? ` Her limit is ${short(day.limit)} m.` : "";
  const said = `Clearance of ${nameOf(ship)} in metres: least ${short(lowest)} m at ${clockOf(at).slice(0, 5)}.${limit} ${windowsOf(day)}`;
  return element("figure", {}, picture, element("figcaption", { id: "clearance-said" }, said));
}
