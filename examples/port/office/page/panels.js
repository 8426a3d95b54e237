"use strict";
// What stands below the ships: per rule the ships it touches, per berth who lies there and who comes, the readings, and
// who changed the rules. All is found in the ships themselves, so that no panel contradicts the list.

const MOST_NAMED = 12;

/** Ships by name, the first few as buttons. */
function shipNames(ships) {
  if (!ships.length) return [element("span", { className: "hint" }, "none")];
  const items = ships.slice(0, MOST_NAMED).map((ship) => element("li", {}, shipButton(ship)));
  if (ships.length > MOST_NAMED) items.push(element("li", { className: "meta" }, `and ${ships.length - MOST_NAMED} more`));
  return [element("ul", { className: "names" }, ...items)];
}

/** The ships by what `keys` gives for them. */
function grouped(keys) {
  const found = new Map();
  for (const ship of board.ships.values()) {
    for (const key of new Set(keys(ship))) {
      if (!found.has(key)) found.set(key, []);
      found.get(key).push(ship);
    }
  }
  return found;
}

const shortList = (ships) => ships.slice(0, MOST_NAMED).map((ship) => [ship.mmsi, ship.name]).concat([ships.length]);

/** A line of two lists of ships as `renew` takes it. */
const withShips = (keyOf, saidOf) => (line) => {
  const [one, first, second] = line;
  return [keyOf(one), JSON.stringify([saidOf(one), shortList(first), shortList(second)]), line];
};

function showRules() {
  const stops = grouped((ship) => ship.failed.map((each) => each.rule));
  const lacks = grouped((ship) => ship.missing.map((each) => each.rule));
  const lines = board.rules.map((rule) => [rule, stops.get(rule.name) || [], lacks.get(rule.name) || []]);
  lines.sort(([, a, c], [, b, d]) => b.length - a.length || d.length - c.length);
  renew("rules", lines.map(withShips((rule) => rule.name, (rule) => rule.text)), ([rule, stopped, undecided]) => element("tr", {},
    element("th", { scope: "row" }, isolated(plain(rule.name, 80)), element("span", { className: "because" }, plain(rule.text, 400))),
    cell("Stops", ...shipNames(stopped)), cell("Cannot decide on", ...shipNames(undecided))));
}

function showBerths() {
  const lies = grouped((ship) => (ship.berth ? [ship.berth] : []));
  const comes = grouped((ship) => (ship.heads_for && ship.heads_for !== ship.berth ? [ship.heads_for] : []));
  const lines = board.berths.map((berth) => [berth, lies.get(berth.id) || [], comes.get(berth.id) || []]);
  renew("berths", lines.map(withShips((berth) => berth.id, (berth) => [berth.name, berth.depth])), ([berth, there, coming]) => element("tr", {},
    element("th", { scope: "row" }, isolated(plain(berth.name || berth.id, 60))), Object.assign(cell("Depth", Number.isFinite(berth.depth) ? `${short(berth.depth)} m` : amount(berth.depth)), { className: "number" }),
    cell("Lies there", ...shipNames(there)), cell("Comes", ...shipNames(coming))));
}

function showSources() {
  const looks = (source) => JSON.stringify([source, Math.floor(board.now / 10_000)]);
  renew("sources", board.sources.map((source) => [source.source, looks(source), source]), (source) => element("tr", { className: source.stale ? "stale" : "" },
    element("th", { scope: "row" }, isolated(plain(source.source, 60)), source.what ? element("span", { className: "because" }, plain(source.what, 120)) : null),
    cell("Last", timeOf(source.last)), cell("Age", ageOf(source.last), ...(source.stale ? [" ", element("span", { className: "tag unknown" }, "too old")] : []))));
  const silent = board.sources.filter((source) => source.stale).map((source) => plain(source.source, 60));
  by("silent").hidden = !silent.length;
  setText("silent", silent.length ? `Nothing new of: ${silent.join(", ")}. What rests on it is as of the last report; its age is beside it.` : "");
}

function packChange(change) {
  const parts = [["added", change.rules_added], ["removed", change.rules_removed], ["changed", change.rules_changed]];
  const said = parts.filter(([, rules]) => rules && rules.length).map(([word, rules]) => element("li", {}, `${word}: ${plain(rules.join(", "), 300)}`));
  return element("li", {},
    element("p", {}, element("code", {}, plain(change.version, 12)), ` in force from ${timeOf(change.at)}, by `, isolated(plain(change.who || "nobody named", 60)),
      change.changed ? element("span", { className: "meta" }, ` written ${dayOf(instant(change.changed))}, ${minuteOf(change.changed)}`) : ""),
    said.length ? element("ul", { className: "list" }, ...said) : element("p", { className: "hint" }, "no rule differs"), ...sentences(change));
}

/** What a change of the rules says, sentence by sentence, behind a button. */
function sentences(change) {
  const rules = (change.sentences || []).flatMap(([, before, after]) => [[before, "− "], [after, "+ "]].filter(([text]) => text !== null).map(([text, sign]) => sign + text));
  const lines = [...rules, ...(change.declarations || [])];
  if (!lines.length) return [];
  const shown = lines.flatMap((line) => line.split("\n")).map((line) => plain(line, 400)).join("\n");
  return [element("details", {}, element("summary", {}, "What it says"), element("pre", { className: "rule-text" }, shown))];
}

function showPacks() {
  const { pack } = board;
  renew("packs", pack.changes.map((change, place) => [place, JSON.stringify(change), change]).reverse(), packChange);
  setText("pack", pack.version ? `In force: ${plain(pack.version, 12)}${pack.since ? `, since ${timeOf(pack.since)}` : ""}${pack.who ? `, by ${plain(pack.who, 60)}` : ""}.` : "Which rules are in force is not known.");
  const refused = pack.refused;
  by("refused").hidden = !refused;
  setText("refused-by", refused ? `The rules that ${plain(refused.who || "somebody", 60)} wants are not in force; those before go on. Why:` : "");
  setText("refused-why", refused ? String(refused.why).split("\n").map((line) => plain(line, 400)).join("\n") : "");
}
