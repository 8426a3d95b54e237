"use strict";
// The page that edits a file of rules. The draft is the whole text; every edit is made by the server's grammar, which
// answers with a new text or with the reason why not. Nothing is kept by the server, and an error changes nothing.

// Behind the # of the address that the editor printed: no browser sends that part anywhere.
const token = location.hash.slice(1);
const by = (id) => document.getElementById(id);
const state = { text: "", saved: "", version: "", past: [], future: [], outline: null, open: null, rows: {}, now: "" };
const OTHER = "\u0000other";

// ------------------------------------------------------------------------------------------------ server and elements

async function ask(question, draft) {
  let response;
  try {
    response = await fetch(`api/${question}`, {
      method: "POST",
      headers: { "Content-Type": "application/json", "X-Token": token },
      body: JSON.stringify(draft),
    });
  } catch {
    throw new Error("The editor has ended; start it again. This page still holds your text: see Whole text.");
  }
  const answer = await response.json();
  if (response.ok) return answer;
  throw Object.assign(new Error(answer.error), { status: response.status });
}

function element(tag, attributes = {}, ...children) {
  const made = document.createElement(tag);
  for (const [name, value] of Object.entries(attributes)) {
    if (name.startsWith("on")) made.addEventListener(name.slice(2), value);
    else if (name in made && name !== "list") made[name] = value;
    else made.setAttribute(name, value);
  }
  made.append(...children.filter((child) => child !== null));
  return made;
}

function choices(values, chosen, attributes = {}) {
  const select = element("select", attributes);
  for (const [value, label] of values) select.append(element("option", { value, selected: value === chosen }, label));
  return select;
}

function later(action, milliseconds) {
  let waiting;
  return (...given) => {
    clearTimeout(waiting);
    waiting = setTimeout(() => action(...given), milliseconds);
  };
}

/** A message: its summary, then the line with a caret and the notes, letter under letter. */
function message(text) {
  const [summary, ...rest] = text.split("\n");
  return [element("p", {}, summary), element("pre", {}, rest.join("\n"))];
}

function showProblem(error) {
  const box = by("problem");
  box.replaceChildren();
  box.hidden = !error;
  if (!error) return;
  box.append(...message(error.message));
  if (error.status === 409) {
    const again = () => load(true);
    box.append(element("div", { className: "actions" }, element("button", { type: "button", onclick: again }, "Load the file; keep my text under Undo")));
  }
}

// --------------------------------------------------------------------------------------------------------- the draft

function take(text, outline) {
  if (text !== state.text) {
    state.past.push(state.text);
    state.future = [];
  }
  state.text = text;
  state.outline = outline;
  show();
}

async function travel(from, to) {
  if (!from.length) return;
  to.push(state.text);
  state.text = from.pop();
  await refresh();
}

async function refresh() {
  by("text").value = state.text;
  try {
    state.outline = await ask("read", { text: state.text });
    showProblem(null);
  } catch (error) {
    state.outline = null;
    showProblem(error);
    openText(true);
  }
  show();
}

async function load(again = false) {
  const file = await ask("load", {});
  if (again) state.past.push(state.text);
  Object.assign(state, { text: file.text, saved: file.text, version: file.version, open: null });
  by("file").textContent = file.file;
  if (!again) {
    const kept = JSON.parse(localStorage.getItem(`situation of ${file.file}`) || "{}");
    Object.assign(state, { rows: Array.isArray(Object.values(kept.rows || {})[0]) ? kept.rows : {}, now: kept.now || "", file: file.file });
  }
  await refresh();
}

async function save() {
  try {
    const answer = await ask("save", { text: state.text, version: state.version });
    state.version = answer.version;
    state.saved = state.text;
    showProblem(null);
    showState(`saved; the last version is in ${answer.backup}`);
  } catch (error) {
    showProblem(error);
  }
}

function showState(said) {
  const changed = state.text !== state.saved;
  by("state").textContent = said || (changed ? "· not saved" : "· saved");
  by("state").className = changed ? "changed" : "";
  by("save").disabled = !changed;
  by("undo").disabled = !state.past.length;
  by("redo").disabled = !state.future.length;
}

function openText(open) {
  by("text-panel").hidden = !open;
  by("as-text").setAttribute("aria-expanded", String(open));
  if (open) by("text").value = state.text;
}

// --------------------------------------------------------------------------------------------------- the list of rules

function show() {
  showState();
  by("text").value = state.text;
  const list = by("list");
  list.replaceChildren();
  by("add").disabled = !state.outline;
  if (!state.outline) return;
  document.title = `Rules: ${state.outline.name}`;
  by("title").textContent = `Rules of ${state.outline.name}`;
  const lists = [list];
  for (const item of state.outline.items) {
    const entry = element("li", { className: `rule ${item.kind}`, id: `rule-${item.number}` });
    lists[item.depth].append(entry);
    fill(entry, item);
    if (item.kind === "block") {
      lists[item.depth + 1] = element("ol", { className: "rules" });
      entry.append(lists[item.depth + 1]);
    }
  }
  if (state.open && state.open.number === null) list.append(newRule());
  if (!state.outline.items.length && !state.open) list.append(element("li", { className: "hint" }, "There are no rules yet."));
  showSituation();
  judge(state.text);
}

function guardText(guard) {
  const said = { otherwise: "otherwise", every: `for every ${guard.text}` };
  return said[guard.kind] || `${guard.kind} ${guard.text}`;
}

function headOf(item) {
  const guards = item.guards.map(guardText).join(", ");
  const said = item.kind === "nothing" ? "nothing" : item.requirement ? item.requirement.text : "";
  return guards ? `${guards}:${said ? ` ${said}` : ""}` : said;
}

function fill(entry, item) {
  if (state.open && state.open.number === item.number) {
    entry.append(editor(item));
    return;
  }
  const guards = item.guards.map(guardText).join(", ");
  const said = item.requirement ? item.requirement.text : item.kind === "nothing" ? "nothing" : "";
  const { name, because, severity, reference } = item.properties;
  const label = name || headOf(item);
  const act = (edit) => () => change({ edit, number: item.number });
  const tool = (text, title, action, id) =>
    element("button", { type: "button", title, id, onclick: action, "aria-label": `${title}: ${label}` }, text);
  const start = () => openEditor({ number: item.number });
  entry.append(
    element(
      "div",
      { className: "row" },
      element("div", {},
        element("p", { className: "sentence" }, guards ? element("span", { className: "guard" }, `${guards}: `) : null, said),
        element("p", { className: "meta" },
          name ? element("b", {}, name) : null,
          severity ? element("span", { className: `tag ${severity}` }, severity) : null,
          reference ? element("span", {}, reference) : null,
          because ? element("span", {}, `because ${because}`) : null,
          element("span", { className: "outcome" })),
      ),
      element("div", { className: "tools", role: "group", "aria-label": `Rule ${item.number + 1}` },
        tool("Edit", "Edit", start, `edit-${item.number}`),
        tool("↑", "Move up", act("up")),
        tool("↓", "Move down", act("down")),
        tool("+", "Add a rule below", () => openEditor({ number: null, after: item.number })),
        tool("✕", "Delete", act("delete"))),
    ),
  );
}

async function change(edit) {
  try {
    const answer = await ask("edit", { text: state.text, ...edit });
    state.open = null;
    showProblem(null);
    take(answer.text, answer.outline);
    return true;
  } catch (error) {
    showProblem(error);
    return false;
  }
}

function openEditor(open) {
  state.open = open;
  show();
  const first = document.querySelector(".editor select, .editor input");
  if (first) first.focus();
}

function newRule() {
  const entry = element("li", { className: "rule" });
  const blank = { number: null, kind: "sentence", guards: [], requirement: { text: "", parts: {} }, properties: {} };
  entry.append(editor(blank));
  return entry;
}

// ------------------------------------------------------------------------------------------------------ editing a rule

const RELATIONS = {
  quantity: ["at least", "at most", "above", "below", "between", "is", "not"],
  instant: ["at least", "at most", "above", "below", "is", "not"],
  text: ["is", "not"],
  choice: ["is", "not"],
  "truth value": ["holds", "is"],
  position: [],
};
const SPOKEN = { is: "", not: "not", holds: "holds" };

function relationWords(relation, must) {
  const verb = must ? "must be" : "is";
  if (relation === "is") return verb;
  if (relation === "not") return must ? "must not be" : "is not";
  if (relation === "holds") return must ? "must hold" : "holds";
  return `${verb} ${relation}`;
}

function literal(kind, typed, unit) {
  const value = typed || (kind.sort === "text" ? "" : "…");
  if (kind.sort === "quantity") return value + (unit ? (unit === "°" || unit === "%" ? unit : ` ${unit}`) : "");
  return kind.sort === "text" || kind.sort === "choice" ? JSON.stringify(value) : value;
}

/** A condition, chosen in parts or written as text; `said()` is its text. */
function conditionEditor(given, must, what, changed) {
  const names = state.outline.names;
  const parts = given.parts;
  const own = { mode: parts ? "parts" : "text", kind: parts && parts.sort ? parts : null };
  const box = element("div", { className: "condition", role: "group", "aria-label": what });
  const words = parts && parts.left ? parts.left : names.length ? names[0].words : "";
  const isName = names.some((name) => name.words === words);
  const left = choices([], "", { "aria-label": `${what}: what is observed` });
  for (const group of new Set(names.map((name) => name.group))) {
    const options = names.filter((name) => name.group === group);
    left.append(element("optgroup", { label: group }, ...options.map((name) => element("option", { value: name.words, selected: name.words === words }, name.words))));
  }
  left.append(element("option", { value: OTHER, selected: !isName }, "a calculation …"));
  const formula = element("input", { className: "wide", value: isName ? "" : words, "aria-label": `${what}: calculation`, placeholder: "berth depth - draught" });
  const relation = element("select", { "aria-label": `${what}: comparison` });
  const values = element("span", { className: "condition" });
  const free = element("input", { className: "wide", value: given.text, "aria-label": `${what}: text`, placeholder: must ? "draught must be at most 15 m" : "draught is at most 15 m" });
  const swap = element("button", { type: "button", title: "Choose from lists, or write freely" }, "");
  let inputs = [];

  const kind = () => (left.value === OTHER ? own.kind : names.find((name) => name.words === left.value));
  const leftWords = () => (left.value === OTHER ? formula.value.trim() : left.value);

  function showRelations(chosen) {
    const now = kind() || { sort: "text" };
    const offered = [...(RELATIONS[now.sort] || ["is", "not"]), ...(now.optional ? ["known"] : [])];
    const before = chosen || relation.value;
    relation.replaceChildren(...offered.map((each) => element("option", { value: each, selected: each === before }, relationWords(each, must))));
    showValues();
  }

  function showValues(initial) {
    const now = kind() || { sort: "text" };
    const old = initial || inputs.map((input) => ({ value: input.value.value, unit: input.unit ? input.unit.value : "" }));
    const count = { holds: 0, known: 0, between: 2 }[relation.value] ?? 1;
    values.replaceChildren();
    inputs = [];
    for (let number = 0; number < count; number += 1) {
      const label = count === 2 ? `${what}: ${number ? "upper" : "lower"} bound` : `${what}: value`;
      const before = old[number] || old[0] || { value: "", unit: "" };
      if (number) values.append(element("span", { className: "word" }, "and"));
      inputs.push(valueInput(now, before, label, values));
    }
    for (const input of inputs) {
      input.value.addEventListener("input", changed);
      if (input.unit) input.unit.addEventListener("input", changed);
    }
  }

  function showMode() {
    const parted = own.mode === "parts";
    swap.textContent = parted ? "as text" : "choose";
    box.replaceChildren(...(parted ? [left, formula, relation, values] : [free]), swap);
    formula.hidden = left.value !== OTHER;
  }

  const askKind = later(async () => {
    try {
      own.kind = await ask("expression", { text: state.text, expression: formula.value });
      showRelations();
    } catch {
      own.kind = null; // the preview shows why
    }
    changed();
  }, 250);

  left.addEventListener("input", () => { showMode(); showRelations(); changed(); });
  formula.addEventListener("input", () => { askKind(); changed(); });
  relation.addEventListener("input", () => { showValues(); changed(); });
  free.addEventListener("input", changed);
  swap.addEventListener("click", () => {
    if (own.mode === "parts") free.value = said();
    own.mode = own.mode === "parts" ? "text" : "parts";
    showMode();
    changed();
  });

  function said() {
    if (own.mode === "text") return free.value.trim();
    const about = leftWords();
    const now = kind() || { sort: "text" };
    const texts = inputs.map((input) => literal(now, input.value.value.trim(), input.unit ? input.unit.value : ""));
    if (relation.value === "holds") return must ? `it must hold that ${about}` : about;
    if (relation.value === "known") return `${about} ${must ? "must be" : "is"} known`;
    return `${about} ${relationWords(relation.value, must)} ${texts.join(" and ")}`;
  }

  showRelations(parts ? parts.relation : undefined);
  showValues(parts ? parts.values : undefined);
  showMode();
  return { box, said };
}

function valueInput(kind, before, label, into) {
  let value;
  let unit = null;
  if (kind.sort === "choice") {
    value = choices(kind.members.map((member) => [member, member]), before.value, { "aria-label": label });
  } else if (kind.sort === "truth value") {
    value = choices([["true", "true"], ["false", "false"]], before.value, { "aria-label": label });
  } else if (kind.sort === "quantity") {
    value = element("input", { className: "number", inputMode: "decimal", value: before.value, "aria-label": label });
    const offered = kind.units.filter((each) => each !== "");
    if (offered.length) {
      const chosen = offered.includes(before.unit) ? before.unit : kind.unit;
      unit = choices(offered.map((each) => [each, each]), chosen, { "aria-label": `${label}, unit` });
    }
  } else {
    const placeholder = kind.sort === "instant" ? "2026-05-01 14:30Z" : "";
    value = element("input", { value: before.value, "aria-label": label, placeholder });
  }
  into.append(value, ...(unit ? [unit] : []));
  return { value, unit };
}

function placeText(typed) {
  const plain = /^\p{L}[\p{L}\p{N}]*(-[\p{L}\p{N}]+)*( \p{L}[\p{L}\p{N}]*(-[\p{L}\p{N}]+)*)*$/u;
  const kind = state.outline.location;
  if (typed.startsWith('"') || plain.test(typed) || (kind && kind.sort === "quantity")) return typed;
  return JSON.stringify(typed);
}

function editor(item) {
  const guards = [];
  const box = element("form", { className: "editor", "aria-label": item.number === null ? "A new rule" : "Edit the rule" });
  const conditions = element("fieldset", {}, element("legend", {}, "Applies"));
  const guardList = element("div");
  const preview = element("output", { className: "preview", "aria-label": "The sentence" });
  const wrong = element("div", { className: "problem", role: "alert", hidden: true });
  const properties = {};

  const changed = () => { preview.textContent = head(); check(); };
  const isSentence = item.kind === "sentence";
  let requirement = null;

  function addGuard(guard) {
    const row = element("div", { className: "condition" });
    const entry = { kind: guard.kind, said: () => "otherwise" };
    if (guard.kind === "at") {
      const place = element("input", { className: "wide", value: guard.text, "aria-label": "Location", placeholder: "berth A" });
      place.addEventListener("input", changed);
      row.append(element("span", { className: "word" }, "at"), place);
      entry.said = () => `at ${placeText(place.value.trim())}`;
    } else if (guard.kind === "when") {
      const condition = conditionEditor(guard, false, `Condition ${guards.length + 1}`, changed);
      row.append(element("span", { className: "word" }, "when"), condition.box);
      entry.said = () => `when ${condition.said()}`;
    } else if (guard.kind === "every") {
      const pair = element("input", { className: "wide", value: guard.text, "aria-label": "For every other" });
      pair.addEventListener("input", changed);
      row.append(element("span", { className: "word" }, "for every"), pair);
      entry.said = () => `for every ${pair.value.trim()}`;
    } else row.append(element("span", { className: "word" }, "otherwise (the opposite of the rule above)"));
    const remove = () => { guards.splice(guards.indexOf(entry), 1); row.remove(); changed(); };
    row.append(element("button", { type: "button", onclick: remove, "aria-label": `Remove this ${guard.kind === "at" ? "location" : "condition"}` }, "✕"));
    guards.push(entry);
    guardList.append(row);
    return row;
  }

  function head() {
    const before = guards.map((guard) => guard.said()).join(", ");
    const said = requirement ? requirement.said() : item.kind === "nothing" ? "nothing" : "";
    return before ? `${before}:${said ? ` ${said}` : ""}` : said;
  }

  function request() {
    const said = Object.fromEntries(Object.entries(properties).map(([label, input]) => [label, input.value.trim()]));
    if (said.severity === "major") delete said.severity;
    const place = item.number === null ? { edit: "add", number: state.open.after ?? null } : { edit: "replace", number: item.number };
    return { ...place, head: head(), properties: said };
  }

  const check = later(async () => {
    if (!box.isConnected) return;
    try {
      const answer = await ask("edit", { text: state.text, ...request() });
      if (!box.isConnected) return;
      wrong.hidden = true;
      await judge(answer.text);
    } catch (error) {
      wrong.replaceChildren(...message(error.message));
      wrong.hidden = false;
    }
  }, 200);

  const addAt = () => { addGuard({ kind: "at", text: "" }).querySelector("input").focus(); changed(); };
  const addWhen = () => { addGuard({ kind: "when", text: "", parts: {} }).querySelector("select").focus(); changed(); };
  conditions.append(guardList, element("div", { className: "actions" },
    element("button", { type: "button", onclick: addWhen }, "Add a condition"),
    state.outline.location ? element("button", { type: "button", onclick: addAt }, "Add a location") : null));
  item.guards.forEach(addGuard);
  box.append(conditions);
  if (isSentence) {
    requirement = conditionEditor(item.requirement, true, "Requirement", changed);
    box.append(element("fieldset", {}, element("legend", {}, "Requires that"), requirement.box));
    const said = item.properties;
    properties.name = element("input", { value: said.name || "" });
    properties.severity = choices([["minor", "minor"], ["major", "major"], ["critical", "critical"]], said.severity || "major");
    properties.because = element("input", { value: said.because || "" });
    properties.reference = element("input", { value: said.reference || "" });
    const labelled = (text, input, className = "") => element("label", { className }, text, input);
    box.append(element("div", { className: "properties" },
      labelled("Name", properties.name), labelled("Severity", properties.severity),
      labelled("Because", properties.because, "whole"), labelled("Reference", properties.reference, "whole")));
    for (const input of Object.values(properties)) input.addEventListener("input", changed);
  }
  const cancel = () => {
    const { number } = item;
    state.open = null;
    show();
    const back = number === null ? by("add") : by(`edit-${number}`);
    if (back) back.focus();
  };
  box.append(preview, wrong, element("div", { className: "actions" },
    element("button", { type: "submit", className: "primary" }, "Apply"),
    element("button", { type: "button", onclick: cancel }, "Cancel")));
  box.addEventListener("submit", async (event) => {
    event.preventDefault();
    try {
      const answer = await ask("edit", { text: state.text, ...request() });
      state.open = null;
      showProblem(null);
      take(answer.text, answer.outline);
      const back = by(`edit-${item.number}`) || by("add");
      back.focus();
    } catch (error) {
      wrong.replaceChildren(...message(error.message));
      wrong.hidden = false;
    }
  });
  box.addEventListener("keydown", (event) => { if (event.key === "Escape") cancel(); });
  preview.textContent = head();
  return box;
}

// ------------------------------------------------------------------------------------------- the example and its verdict

function showSituation() {
  const form = by("situation");
  const shape = JSON.stringify([state.outline.sources, state.outline.usesClock]);
  if (form.dataset.shape === shape) return;
  form.dataset.shape = shape;
  form.replaceChildren();
  for (const source of state.outline.sources) {
    const rows = (state.rows[source.name] ||= [{}]);
    const words = source.name.replaceAll("_", " ");
    const box = element("fieldset", {}, element("legend", {}, words));
    rows.forEach((row, number) => box.append(rowFields(source, row, rows.length > 1 ? `${words} ${number + 1}` : words)));
    if (source.isTable) {
      const again = () => { form.dataset.shape = ""; showSituation(); keep(); judgeSoon(); };
      box.append(element("div", { className: "actions" },
        element("button", { type: "button", onclick: () => { rows.push({}); again(); } }, `Another row of ${words}`),
        element("button", { type: "button", disabled: rows.length < 2, onclick: () => { rows.pop(); again(); } }, "Remove the last")));
    }
    form.append(box);
  }
  const clock = element("input", { value: state.now, placeholder: "2026-05-01 14:30Z", name: "now" });
  clock.addEventListener("input", () => { state.now = clock.value; keep(); judgeSoon(); });
  form.append(element("label", { className: "field" }, "the time now", clock));
}

function rowFields(source, row, words) {
  const fields = element("div", { className: "fields" });
  for (const field of source.fields) {
    const label = `${words} ${field.name}`.replaceAll("_", " ");
    const input = situationInput(field, row[field.name] || "");
    input.setAttribute("aria-label", label);
    input.name = label;
    input.addEventListener("input", () => { row[field.name] = input.value; keep(); judgeSoon(); });
    const unit = field.sort === "quantity" && field.unit ? element("span", {}, field.unit) : null;
    fields.append(element("label", { className: "field" }, field.name.replaceAll("_", " "), element("span", { className: "with-unit" }, input, unit)));
  }
  return fields;
}

function situationInput(field, value) {
  if (field.sort === "choice") return choices([["", "—"], ...field.members.map((member) => [member, member])], value);
  if (field.sort === "truth value") return choices([["", "—"], ["yes", "yes"], ["no", "no"]], value);
  const placeholder = { instant: "2026-05-01 14:30Z", position: "51.95, 4.14" }[field.sort] || "";
  return element("input", { value, placeholder, inputMode: field.sort === "quantity" ? "decimal" : "text" });
}

function keep() {
  localStorage.setItem(`situation of ${state.file}`, JSON.stringify({ rows: state.rows, now: state.now }));
}

let asked = 0;
async function judge(text) {
  const own = (asked += 1);
  const box = by("verdict");
  try {
    const verdict = await ask("judge", { text, rows: state.rows, now: state.now });
    if (own === asked) showVerdict(verdict);
  } catch (error) {
    if (own !== asked) return;
    box.className = "verdict";
    box.replaceChildren(...message(error.message));
  }
}
const judgeSoon = later(() => judge(state.text), 150);

function showVerdict(verdict) {
  if (!state.outline) return;
  const box = by("verdict");
  box.className = `verdict ${verdict.status}`;
  const reasons = verdict.because.map((reason) => {
    // Constants say nothing new, nor does what is missing: the line above the table names it.
    const constant = ([label, value, unit]) => [`${value} ${unit}`.trim(), `${value}${unit}`, `"${value}"`].includes(label);
    const observed = reason.values.filter((each) => !constant(each) && each[1] !== "missing");
    const values = observed.map(([label, value, unit]) => element("tr", {}, element("td", {}, label), element("td", {}, `${value} ${unit}`)));
    if (reason.margin) values.push(element("tr", {}, element("td", {}, "margin"), element("td", {}, reason.margin)));
    return element("li", {},
      element("div", {}, element("b", {}, reason.name), " ", element("span", { className: `tag ${reason.severity}` }, reason.severity)),
      reason.because ? element("div", {}, `because ${reason.because}`) : null,
      reason.others.length ? element("div", {}, `with ${reason.others.join(", ")}`) : null,
      reason.missing.length ? element("div", {}, `missing: ${reason.missing.join(", ")}`) : null,
      element("table", {}, element("tbody", {}, ...values)));
  });
  box.replaceChildren(element("strong", {}, verdict.status), element("ul", {}, ...reasons));
  const outcome = new Map(verdict.because.map((reason) => [reason.name, reason.missing.length ? "undecided" : "failed"]));
  for (const item of state.outline.items) {
    const entry = by(`rule-${item.number}`);
    const said = outcome.get(item.name);
    entry.classList.toggle("failed", said === "failed");
    entry.classList.toggle("undecided", said === "undecided");
    const tag = entry.querySelector(":scope > .row .outcome");
    if (tag) {
      tag.className = `outcome${said ? ` tag ${said}` : ""}`;
      tag.textContent = said || "";
    }
  }
}

// ------------------------------------------------------------------------------------------------------------ the page

by("add").addEventListener("click", () => openEditor({ number: null, after: null }));
by("save").addEventListener("click", save);
by("undo").addEventListener("click", () => travel(state.past, state.future));
by("redo").addEventListener("click", () => travel(state.future, state.past));
by("as-text").addEventListener("click", () => openText(by("text-panel").hidden));
by("close-text").addEventListener("click", () => openText(false));
by("apply-text").addEventListener("click", async () => {
  const text = by("text").value;
  try {
    const outline = await ask("read", { text });
    showProblem(null);
    take(text, outline);
    openText(false);
  } catch (error) {
    showProblem(error);
  }
});
by("situation").addEventListener("submit", (event) => event.preventDefault());
document.addEventListener("keydown", (event) => {
  if ((event.ctrlKey || event.metaKey) && event.key === "s") {
    event.preventDefault();
    if (!by("save").disabled) save();
  }
});
window.addEventListener("beforeunload", (event) => { if (state.text !== state.saved || state.open) event.preventDefault(); });
load().catch(showProblem);
