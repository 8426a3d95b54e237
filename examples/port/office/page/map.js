"use strict";
// The map: positions and berths on a canvas, nothing from outside. North is up; a degree of longitude is as long as it is
// in the middle of what is seen. Two thousand ships are drawn anew in a few milliseconds, at most once a frame.

const chart = { lon: 0, lat: 0, scale: 0, colours: null, drag: null }; // scale: pixels a degree of latitude
const MILE = 1852; // metres
const DEGREE = 60 * MILE; // of latitude
const CLOSEST = DEGREE / 1; // pixels a degree: one a metre
const FURTHEST = 20;

const narrowing = () => Math.cos((chart.lat * Math.PI) / 180);

/** Where a position is on the canvas, in CSS pixels; null without one. */
function placed(one) {
  if (!Number.isFinite(one.lon) || !Number.isFinite(one.lat)) return null;
  const { clientWidth, clientHeight } = by("map");
  const x = clientWidth / 2 + (one.lon - chart.lon) * narrowing() * chart.scale;
  return { x, y: clientHeight / 2 - (one.lat - chart.lat) * chart.scale };
}

function positionAt(x, y) {
  const { clientWidth, clientHeight } = by("map");
  return { lon: chart.lon + (x - clientWidth / 2) / narrowing() / chart.scale, lat: chart.lat - (y - clientHeight / 2) / chart.scale };
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
  const { clientWidth, clientHeight } = by("map");
  chart.lon = (west + east) / 2;
  chart.lat = (south + north) / 2;
  const fit = Math.min(clientWidth / ((east - west) * narrowing() || 0.01), clientHeight / (north - south || 0.01));
  zoomTo(fit * 0.88);
}

function zoomTo(scale) {
  chart.scale = Math.min(CLOSEST, Math.max(FURTHEST, scale));
  showScale();
  changed("map");
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
  changed("map");
}

const middle = () => [by("map").clientWidth / 2, by("map").clientHeight / 2];
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

function drawMap() {
  const canvas = by("map");
  const { clientWidth: width, clientHeight: height } = canvas;
  const ratio = window.devicePixelRatio || 1;
  if (canvas.width !== Math.round(width * ratio) || canvas.height !== Math.round(height * ratio)) {
    canvas.width = Math.round(width * ratio);
    canvas.height = Math.round(height * ratio);
  }
  if (!chart.scale) showWhole();
  if (!chart.scale) return;
  const pen = canvas.getContext("2d");
  const colours = (chart.colours ??= coloursOf());
  pen.setTransform(ratio, 0, 0, ratio, 0, 0);
  pen.fillStyle = colours.water;
  pen.fillRect(0, 0, width, height);
  pen.font = "12px system-ui, sans-serif";
  const inside = (at) => at && at.x > -20 && at.y > -20 && at.x < width + 20 && at.y < height + 20;
  const isNear = chart.scale > 4_000;
  for (const berth of board.berths) {
    const at = placed(berth);
    if (!inside(at)) continue;
    pen.strokeStyle = colours.soft;
    pen.lineWidth = 1.5;
    pen.strokeRect(at.x - 7, at.y - 4, 14, 8);
    if (isNear) label(pen, plain(berth.name || berth.id, 30), at.x + 10, at.y + 14, colours.soft, colours);
  }
  const drawn = { restricted: [], unknown: [], allowed: [] };
  let seen = 0;
  for (const ship of board.ships.values()) {
    const at = placed(ship);
    if (!inside(at)) continue;
    seen += 1;
    drawn[statusOf(ship)].push([ship, at]);
  }
  for (const status of ["allowed", "unknown", "restricted"]) { // what matters most lies on top
    for (const [ship, at] of drawn[status]) drawShip(pen, ship, at, status, colours);
  }
  for (const [ship, at] of drawn.restricted) if (ship.mmsi !== board.chosen && (isNear || drawn.restricted.length < 12)) label(pen, nameOf(ship), at.x + 9, at.y - 6, colours.ink, colours);
  const chosen = board.ships.get(board.chosen);
  const at = chosen && placed(chosen);
  if (at) {
    pen.strokeStyle = colours.focus;
    pen.lineWidth = 3;
    pen.beginPath();
    pen.arc(at.x, at.y, 12, 0, 2 * Math.PI);
    pen.stroke();
    label(pen, nameOf(chosen), at.x + 15, at.y + 4, colours.ink, colours);
  }
  setText("map-said", `${many(seen, "ship")} of ${board.ships.size.toLocaleString("en")} in what the map shows.`);
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
  if (ship.speed > 0.5 && Number.isFinite(ship.course)) {
    const turn = (ship.course * Math.PI) / 180;
    pen.beginPath();
    pen.moveTo(at.x, at.y);
    pen.lineTo(at.x + 14 * Math.sin(turn), at.y - 14 * Math.cos(turn));
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
  const { clientWidth, clientHeight } = by("map");
  const seen = chosenShips().filter((ship) => {
    const at = placed(ship);
    return at && at.x >= 0 && at.y >= 0 && at.x <= clientWidth && at.y <= clientHeight;
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
  changed("map");
});
