"use strict";
// The map: positions and berths on a canvas, nothing from outside. North is up; a degree of longitude is as long as it is
// in the middle of what is seen. Where a ship was and where she is now is drawn anew, not the rest; all where the view changes.

const chart = { lon: 0, lat: 0, scale: 0, width: 0, height: 0, colours: null, drag: null, all: true, moved: new Set(), marks: new Map(), restricted: 0, few: false };
// scale: pixels a degree of latitude; moved: ships that are drawn anew; marks: where each is drawn, with the box around it;
// restricted: how many of them are
const MILE = 1852; // metres
const DEGREE = 60 * MILE; // of latitude
const CLOSEST = DEGREE / 1; // pixels a degree: one a metre
const FURTHEST = 20;
const FEW = 12; // so many restricted ships have their names on the map, from however far it is seen

const narrowing = () => Math.cos((chart.lat * Math.PI) / 180);

/** Where a position is on the canvas, in CSS pixels; null without one. */
function placed(one) {
  if (!Number.isFinite(one.lon) || !Number.isFinite(one.lat)) return null;
  const x = chart.width / 2 + (one.lon - chart.lon) * narrowing() * chart.scale;
  return { x, y: chart.height / 2 - (one.lat - chart.lat) * chart.scale };
}

function positionAt(x, y) {
  return { lon: chart.lon + (x - chart.width / 2) / narrowing() / chart.scale, lat: chart.lat - (y - chart.height / 2) / chart.scale };
}

/** Shows all ships and berths; a few that report from far away do not count. */
function showWhole() {
  const all = [...board.ships.values(), ...board.berths].filter((one) => Number.isFinite(one.lon) && Number.isFinite(one.lat));
  if (!all.length) return;
  const part = (values, share) => values[Math.round((values.length - 1) * share)];
  const spans = ["lon", "lat"].map((axis) => {
    const values = all.map((one) => one[axis]).sort((a, b) => a - b);
    return [part(values, 0.02), part(values, 0.98)];
  });
  const [[west, east], [south, north]] = spans;
  chart.lon = (west + east) / 2;
  chart.lat = (south + north) / 2;
  const fit = Math.min(chart.width / ((east - west) * narrowing() || 0.01), chart.height / (north - south || 0.01));
  zoomTo(fit * 0.88);
}

function zoomTo(scale) {
  chart.scale = Math.min(CLOSEST, Math.max(FURTHEST, scale));
  showScale();
  redraw();
}

/** Zooms, and keeps what is at (x, y) there. */
function zoomAt(factor, x, y) {
  const before = positionAt(x, y);
  zoomTo(chart.scale * factor);
  const after = positionAt(x, y);
  move(before.lon - after.lon, before.lat - after.lat);
}

function move(lon, lat) {
  chart.lon = Math.min(180, Math.max(-180, chart.lon + lon));
  chart.lat = Math.min(85, Math.max(-85, chart.lat + lat));
  showScale();
  redraw();
}

const middle = () => [chart.width / 2, chart.height / 2];
const pan = (x, y) => move((x / narrowing()) / chart.scale, -y / chart.scale);

function showScale() {
  const metres = DEGREE / chart.scale; // a pixel
  const wanted = 110 * metres;
  const mile = wanted >= 0.1 * MILE;
  const size = mile ? wanted / MILE : wanted;
  const power = 10 ** Math.floor(Math.log10(size));
  const round = [5, 2, 1].find((one) => one * power <= size) * power;
  by("scale-bar").style.width = `${(round * (mile ? MILE : 1)) / metres}px`;
  setText("scale", mile ? many(Number(round.toPrecision(1)), "nautical mile") : many(Number(round.toPrecision(1)), "metre"));
}

/** The page's own colours, light or dark. */
function coloursOf() {
  const style = getComputedStyle(document.documentElement);
  const found = (name) => style.getPropertyValue(`--${name}`).trim();
  return { restricted: found("bad"), unknown: found("doubt"), allowed: found("good"), ink: found("ink"), soft: found("soft"), paper: found("paper"), water: found("water"), line: found("line"), focus: found("focus") };
}

/** Says that all of the map is to be drawn. */
function redraw() {
  chart.all = true;
  changed("map");
}

/** Draws where ships have moved; all, where the view, the colours or the board are others. */
function drawMap() {
  const canvas = by("map");
  const ratio = window.devicePixelRatio || 1;
  const [width, height] = [Math.round(chart.width * ratio), Math.round(chart.height * ratio)];
  if (canvas.width !== width || canvas.height !== height) {
    Object.assign(canvas, { width, height });
    chart.all = true;
  }
  if (!chart.width) return; // not laid out yet
  if (!chart.scale) showWhole();
  if (!chart.scale) return;
  const pen = canvas.getContext("2d", { alpha: false });
  pen.setTransform(ratio, 0, 0, ratio, 0, 0);
  pen.font = "12px system-ui, sans-serif";
  chart.colours ??= coloursOf();
  const { marks } = chart;
  const boxes = [];
  for (const mmsi of chart.all ? [] : chart.moved) {
    const [before, mark] = [marks.get(mmsi), markOf(pen, board.ships.get(mmsi))];
    chart.restricted += isRestricted(mark) - isRestricted(before);
    if (before && mark && meet(before, mark)) boxes.push(around(before, mark));
    else boxes.push(...[before, mark].filter(Boolean));
    if (mark) marks.set(mmsi, mark);
    else marks.delete(mmsi);
  }
  if (chart.all) {
    marks.clear();
    for (const [mmsi, ship] of board.ships) if (isInside(placed(ship))) marks.set(mmsi, { ship });
  }
  if (chart.all) chart.restricted = [...marks.values()].filter(isRestricted).length;
  if (chart.all || chart.few !== chart.restricted < FEW) {
    chart.few = chart.restricted < FEW;
    for (const [mmsi, { ship }] of marks) marks.set(mmsi, markOf(pen, ship));
    boxes.splice(0, boxes.length, { left: 0, top: 0, right: chart.width, bottom: chart.height });
  }
  boxes.push(...placeNames());
  chart.all = false;
  chart.moved.clear();
  for (const box of boxes) {
    const [left, top] = [Math.floor(box.left * ratio) / ratio, Math.floor(box.top * ratio) / ratio]; // whole pixels: no seams
    const [right, bottom] = [Math.ceil(box.right * ratio) / ratio, Math.ceil(box.bottom * ratio) / ratio];
    pen.save();
    pen.beginPath();
    pen.rect(left, top, right - left, bottom - top);
    pen.clip();
    drawBox(pen, { left, top, right, bottom });
    pen.restore();
  }
  setText("map-said", `${many(marks.size, "ship")} of ${counted(board.ships.size)} in what the map shows.`);
}

const isRestricted = (mark) => Boolean(mark) && statusOf(mark.ship) === "restricted";
const isInside = (at) => at && at.x > -20 && at.y > -20 && at.x < chart.width + 20 && at.y < chart.height + 20;
const isNear = () => chart.scale > 4_000;
const meet = (one, other) => one.left < other.right && one.right > other.left && one.top < other.bottom && one.bottom > other.top;

const around = (one, other) => ({
  left: Math.min(one.left, other.left), right: Math.max(one.right, other.right),
  top: Math.min(one.top, other.top), bottom: Math.max(one.bottom, other.bottom),
});

/** How far the line goes that shows where a ship goes; [0, 0] if she lies still. */
function wayOf(ship) {
  if (!(ship.speed > 0.5) || !Number.isFinite(ship.course)) return [0, 0];
  const turn = (ship.course * Math.PI) / 180;
  return [14 * Math.sin(turn), -14 * Math.cos(turn)];
}

/** Where a ship is drawn, and the box around it with her name, if that stands there; null where she is not on the map. */
function markOf(pen, ship) {
  const at = ship && placed(ship);
  if (!isInside(at)) return null;
  const isChosen = ship.mmsi === board.chosen;
  const [x, y] = isChosen ? [at.x + 15, at.y + 4] : [at.x + 9, at.y - 6];
  const said = isChosen || (statusOf(ship) === "restricted" && (isNear() || chart.few)) ? { text: nameOf(ship), x, y } : null;
  const reach = isChosen ? 15 : 8; // of her mark, or of the ring around it
  const [east, south] = wayOf(ship);
  const box = { left: at.x + Math.min(-reach, east - 3), right: at.x + Math.max(reach, east + 3), top: at.y + Math.min(-reach, south - 3), bottom: at.y + Math.max(reach, south + 3) };
  const name = said ? { left: x, right: x + pen.measureText(said.text).width, top: y - 11, bottom: y + 3 } : box;
  const edge = { left: name.left - 3, right: name.right + 4, top: name.top - 6, bottom: name.bottom + 5 };
  return { ship, at, said, isChosen, name, isCovered: null, ...around(box, said ? edge : box) };
}

/** Has names stand where they lie over no other, the chosen one's first; returns the marks that stay, but for their names. */
function placeNames() {
  const named = [];
  for (const mark of chart.marks.values()) if (mark.said) named.push(mark);
  const standing = [];
  const others = [];
  for (const mark of named.sort((a, b) => b.isChosen - a.isChosen || a.ship.mmsi - b.ship.mmsi)) {
    const isCovered = standing.some((name) => meet(name, mark.name));
    if (!isCovered) standing.push(mark.name);
    if (mark.isCovered === !isCovered) others.push(mark);
    mark.isCovered = isCovered;
  }
  return others;
}

/** Draws what is in a box of the map; outside nothing is touched. */
function drawBox(pen, box) {
  const { colours } = chart;
  pen.fillStyle = colours.water;
  pen.fillRect(box.left, box.top, box.right - box.left, box.bottom - box.top);
  for (const berth of board.berths) {
    const at = placed(berth);
    if (!at || !meet(box, { left: at.x - 9, right: at.x + 400, top: at.y - 6, bottom: at.y + 20 })) continue;
    pen.strokeStyle = colours.soft;
    pen.lineWidth = 1.5;
    pen.strokeRect(at.x - 7, at.y - 4, 14, 8);
    if (isNear()) label(pen, plain(berth.name || berth.id, 30), at.x + 10, at.y + 14, colours.soft, colours);
  }
  const drawn = { allowed: [], unknown: [], restricted: [] }; // what matters most lies on top
  for (const mark of chart.marks.values()) if (meet(box, mark)) drawn[statusOf(mark.ship)].push(mark);
  const all = Object.values(drawn).flatMap((marks) => marks.sort((a, b) => a.ship.mmsi - b.ship.mmsi)); // in one order, whoever came first
  for (const { ship, at } of all) drawShip(pen, ship, at, statusOf(ship), colours);
  for (const { said, at, isChosen, isCovered } of all) {
    if (isChosen) {
      pen.strokeStyle = colours.focus;
      pen.lineWidth = 3;
      pen.beginPath();
      pen.arc(at.x, at.y, 12, 0, 2 * Math.PI);
      pen.stroke();
    }
    if (said && !isCovered) label(pen, said.text, said.x, said.y, colours.ink, colours);
  }
}

function label(pen, text, x, y, colour, colours) {
  pen.strokeStyle = colours.water;
  pen.lineWidth = 3;
  pen.lineJoin = "round";
  pen.strokeText(text, x, y);
  pen.fillStyle = colour;
  pen.fillText(text, x, y);
}

/** A ship: a disc if allowed, a ring if unknown, a square with a cross if restricted; and where she goes, if she does. */
function drawShip(pen, ship, at, status, colours) {
  const colour = colours[status];
  pen.strokeStyle = pen.fillStyle = colour;
  pen.lineWidth = 2;
  const [east, south] = wayOf(ship);
  if (east || south) {
    pen.beginPath();
    pen.moveTo(at.x, at.y);
    pen.lineTo(at.x + east, at.y + south);
    pen.stroke();
  }
  pen.beginPath();
  if (status === "restricted") {
    pen.rect(at.x - 5.5, at.y - 5.5, 11, 11);
    pen.fill();
    pen.strokeStyle = colours.paper;
    pen.lineWidth = 1.8;
    pen.beginPath();
    pen.moveTo(at.x - 3, at.y - 3);
    pen.lineTo(at.x + 3, at.y + 3);
    pen.moveTo(at.x + 3, at.y - 3);
    pen.lineTo(at.x - 3, at.y + 3);
    pen.stroke();
  } else {
    pen.arc(at.x, at.y, 4.5, 0, 2 * Math.PI);
    if (status === "allowed") {
      pen.fill();
    } else {
      pen.fillStyle = colours.paper;
      pen.fill();
      pen.stroke();
    }
  }
}

/** The ship nearest to a place on the canvas, at most a finger away. */
function shipAt(x, y) {
  let [best, least] = [null, 18];
  for (const ship of board.ships.values()) {
    const at = placed(ship);
    const distance = at ? Math.hypot(at.x - x, at.y - y) : Infinity;
    if (distance < least) [best, least] = [ship, distance];
  }
  return best;
}

/** Goes to the next ship that the map shows, the most urgent first. */
function nextShip(step) {
  const seen = listed.ships.filter((ship) => {
    const at = placed(ship);
    return at && at.x >= 0 && at.y >= 0 && at.x <= chart.width && at.y <= chart.height;
  });
  if (!seen.length) return;
  const now = seen.findIndex((ship) => ship.mmsi === board.chosen);
  const place = now < 0 ? (step > 0 ? 0 : seen.length - 1) : (now + step + seen.length) % seen.length;
  openShip(seen[place].mmsi, false);
  say(`${nameOf(seen[place])}, ${statusOf(seen[place])}`);
}

const KEYS = {
  ArrowLeft: () => pan(-60, 0), ArrowRight: () => pan(60, 0), ArrowUp: () => pan(0, -60), ArrowDown: () => pan(0, 60),
  "+": () => zoomAt(1.5, ...middle()), "=": () => zoomAt(1.5, ...middle()), "-": () => zoomAt(1 / 1.5, ...middle()),
  Home: showWhole, n: () => nextShip(1), p: () => nextShip(-1),
  Enter: () => (board.chosen === null ? nextShip(1) : by("ship-heading").focus()),
};

by("map").addEventListener("keydown", (key) => {
  if (key.ctrlKey || key.altKey || key.metaKey) return;
  const action = KEYS[key.key.length === 1 ? key.key.toLowerCase() : key.key];
  if (!action) return;
  key.preventDefault();
  action();
});
by("map").addEventListener("pointerdown", (pointer) => {
  chart.drag = { x: pointer.offsetX, y: pointer.offsetY, far: 0 };
  by("map").setPointerCapture(pointer.pointerId);
});
by("map").addEventListener("pointermove", (pointer) => {
  if (!chart.drag) return;
  const [x, y] = [pointer.offsetX - chart.drag.x, pointer.offsetY - chart.drag.y];
  chart.drag = { x: pointer.offsetX, y: pointer.offsetY, far: chart.drag.far + Math.hypot(x, y) };
  if (chart.drag.far > 4) pan(-x, -y);
});
by("map").addEventListener("pointerup", (pointer) => {
  const ship = chart.drag && chart.drag.far <= 4 ? shipAt(pointer.offsetX, pointer.offsetY) : null;
  chart.drag = null;
  if (ship) openShip(ship.mmsi, false);
});
by("map").addEventListener("pointercancel", () => { chart.drag = null; });
by("map").addEventListener("dblclick", (click) => zoomAt(2, click.offsetX, click.offsetY));
by("map").addEventListener("wheel", (wheel) => {
  if (document.activeElement !== by("map") && !wheel.ctrlKey) return; // else the page scrolls
  wheel.preventDefault();
  zoomAt(wheel.deltaY < 0 ? 1.25 : 0.8, wheel.offsetX, wheel.offsetY);
}, { passive: false });
by("zoom-in").addEventListener("click", () => zoomAt(1.5, ...middle()));
by("zoom-out").addEventListener("click", () => zoomAt(1 / 1.5, ...middle()));
by("whole").addEventListener("click", showWhole);
matchMedia("(prefers-color-scheme: dark)").addEventListener("change", () => {
  chart.colours = null;
  redraw();
});

/** Takes note of how large the map is; asked for at each position that would be laid out again and again. */
function measure() {
  Object.assign(chart, { width: by("map").clientWidth, height: by("map").clientHeight });
  redraw();
}
