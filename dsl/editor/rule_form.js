"use strict";
// The form of one rule: its conditions, what it requires, and the sentence that they make. Used by page.js.

const RELATIONS = {
  quantity: ["at least", "at most", "above", "below", "between", "is", "not"],
  instant: ["at least", "at most", "above", "below", "between", "is", "not"],
  text: ["is", "not"],
  choice: ["is", "not"],
  "truth value": ["holds", "is", "not"],
  position: [],
};

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

/**
 * A condition, chosen in parts or written as text; `said()` is its text: as it was given, until a part is chosen anew.
 * One whose parts the form cannot hold, such as a unit that it does not offer, is written as text.
 */
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

  /** Whether the form holds the parts that it was given: a list falls to its first entry, an input drops line ends. */
  function isHeld() {
    const isValueHeld = ({ value, unit }, number) =>
      inputs[number].value.value.trim() === value && (inputs[number].unit ? inputs[number].unit.value : "") === unit;
    return relation.value === parts.relation && leftWords() === parts.left && parts.values.every(isValueHeld);
  }

  function said() {
    if (own.mode === "text") return free.value.trim();
    const chosen = composed();
    return chosen === opened ? given.text : chosen;
  }

  function composed() {
    const about = leftWords();
    const now = kind() || { sort: "text" };
    const texts = inputs.map((input) => literal(now, input.value.value.trim(), input.unit ? input.unit.value : ""));
    if (relation.value === "holds") return must ? `it must hold that ${about}` : about;
    if (relation.value === "known") return `${about} ${must ? "must be" : "is"} known`;
    return `${about} ${relationWords(relation.value, must)} ${texts.join(" and ")}`;
  }

  /** What is wrong with the numbers, and where. */
  function numberProblems() {
    if (own.mode === "text") return [];
    const numbers = inputs.filter((input) => input.isNumber);
    return numbers.map((input) => [input.value, numberProblem(input.value)]).filter(([, problem]) => problem);
  }

  showRelations(parts ? parts.relation : undefined);
  showValues(parts ? parts.values : undefined);
  if (given.text && parts && !isHeld()) return conditionEditor({ ...given, parts: null }, must, what, changed);
  const opened = given.text && parts ? composed() : null;
  showMode();
  return { box, said, numberProblems: () => numberProblems().map(([input, problem]) => [input, `${what}: ${problem}`]) };
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
  return { value, unit, isNumber: kind.sort === "quantity" };
}

/** What is in an input: what it was given, until somebody types, and then without blanks around it. */
function kept(input, given) {
  const opened = input.value;
  return () => (input.value === opened ? given : input.value.trim());
}

function placeText(typed, given) {
  const plain = /^\p{L}[\p{L}\p{N}]*(-[\p{L}\p{N}]+)*( \p{L}[\p{L}\p{N}]*(-[\p{L}\p{N}]+)*)*$/u;
  const kind = state.outline.location;
  if ((given && typed === given) || typed.startsWith('"') || plain.test(typed) || (kind && kind.sort === "quantity")) return typed;
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
  const typed = {};

  const changed = () => { preview.textContent = head(); check(); };
  const isSentence = item.kind === "sentence";
  let requirement = null;

  function addGuard(guard) {
    const row = element("div", { className: "condition" });
    const entry = { kind: guard.kind, said: () => "otherwise", numberProblems: () => [] };
    if (guard.kind === "at") {
      const place = element("input", { className: "wide", value: guard.text, "aria-label": "Location", placeholder: "berth A" });
      place.addEventListener("input", changed);
      row.append(element("span", { className: "word" }, "at"), place);
      entry.said = () => `at ${placeText(place.value.trim(), guard.text)}`;
    } else if (guard.kind === "when") {
      const condition = conditionEditor(guard, false, `Condition ${guards.length + 1}`, changed);
      row.append(element("span", { className: "word" }, "when"), condition.box);
      entry.said = () => `when ${condition.said()}`;
      entry.numberProblems = condition.numberProblems;
    } else if (guard.kind === "every") {
      const pair = element("input", { className: "wide", value: guard.text, "aria-label": "For every other" });
      pair.addEventListener("input", changed);
      row.append(element("span", { className: "word" }, "for every"), pair);
      entry.said = () => `for every ${pair.value.trim()}`;
    } else row.append(element("span", { className: "word" }, "otherwise (the opposite of the rule above)"));
    const remove = () => { guards.splice(guards.indexOf(entry), 1); row.remove(); changed(); };
    row.append(element("button", { type: "button", onclick: remove, "aria-label": `Remove this ${guard.kind === "at" ? "location" : "condition"}` }, "✕ Remove"));
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
    const said = Object.fromEntries(Object.entries(typed).map(([label, now]) => [label, now()]));
    if (said.severity === "major" && item.properties.severity !== "major") delete said.severity;
    const place = item.number === null ? { edit: "add", number: state.open.after ?? null } : { edit: "replace", number: item.number };
    return { ...place, head: head(), properties: said };
  }

  function warn(said) {
    wrong.replaceChildren(...message(said));
    wrong.hidden = false;
    wrong.scrollIntoView({ block: "nearest" });
  }

  /** Return the edit's answer, or null and say what is wrong: first of numbers, which need no grammar. */
  async function edited() {
    const problems = [...guards, requirement].flatMap((part) => (part ? part.numberProblems() : []));
    try {
      if (problems.length) throw new Error(problems.map(([, problem]) => problem).join("; "));
      const answer = await ask("edit", { text: state.text, ...request() });
      wrong.hidden = true;
      return answer;
    } catch (error) {
      warn(error.message);
      return null;
    }
  }

  const check = later(async () => {
    const answer = box.isConnected ? await edited() : null;
    if (answer && box.isConnected) await judge(answer.text, item.number === null ? answer.number : undefined);
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
    for (const [label, input] of Object.entries(properties)) {
      typed[label] = kept(input, said[label] || "");
      input.addEventListener("input", changed);
    }
  }
  const cancel = () => {
    const { number } = item;
    state.open = null;
    show();
    refocus(`edit-${number}`);
  };
  box.append(preview, wrong, element("div", { className: "actions" },
    element("button", { type: "submit", className: "primary" }, "Apply"),
    element("button", { type: "button", onclick: cancel }, "Cancel")));
  const apply = async () => {
    let asked;
    let answer;
    do {
      asked = JSON.stringify(request());
      const isUntouched = item.number !== null && !isTyped();
      answer = isUntouched ? state : await edited();
      if (!box.isConnected || !isTextSettled()) return false; // it was cancelled meanwhile
      if (!answer) {
        const invalid = box.querySelector("[aria-invalid=true]");
        if (invalid) invalid.focus();
        return false;
      }
    } while (JSON.stringify(request()) !== asked); // somebody typed on meanwhile
    take(answer.text, answer.outline);
    refocus(`edit-${item.number ?? answer.number}`);
    return true;
  };
  box.addEventListener("submit", (event) => { event.preventDefault(); inTurn(applied); });
  box.addEventListener("keydown", (event) => { if (event.key === "Escape") cancel(); });
  preview.textContent = head();
  const untouched = JSON.stringify(request());
  const isTyped = () => JSON.stringify(request()) !== untouched;
  state.form = { isTyped, apply, warn };
  return box;
}
