"use strict";
// The page that edits a file of rules. The draft is the whole text; every edit is made by the server's grammar, which
// answers with a new text or with the reason why not. Nothing is kept by the server, and an error changes nothing.

// --------------------------------------------------------------------------------------------------------- the draft

let turn = Promise.resolve();
/** Do what may change the text when all that was begun before has ended: it finds the text and the outline of that. */
function inTurn(action) {
  const own = (turn = turn.then(() => action()).catch(showProblem));
  by("list").setAttribute("aria-busy", "true");
  own.then(() => by("list").setAttribute("aria-busy", String(turn !== own)));
  return own;
}

/** Show a text and its outline, or why it has none, in place of the last, both at once. */
function put(text, outline, problem = null) {
  Object.assign(state, { text, outline, open: null });
  by("text").value = text;
  showProblem(problem);
  if (problem) openText(true);
  show();
}

function take(text, outline, problem) {
  if (text !== state.text) {
    state.past.push(state.text);
    state.future = [];
  }
  put(text, outline, problem);
}

const reading = (text) => ask("read", { text }).then((outline) => [outline], (problem) => {
  if (problem.status) return [null, problem];
  throw problem; // nobody answers, which says nothing of the text
});

const travel = (from, to) => inTurn(async () => {
  if (!state[from].length || !isSettled()) return;
  const text = state[from].at(-1);
  const read = await reading(text);
  if (!isSettled()) return; // somebody typed meanwhile
  state[to].push(state.text);
  state[from].pop();
  put(text, ...read);
});

// What is typed but not applied is part of nobody's text yet: it counts as unsaved, and no button throws it away.

const isTextTyped = () => !by("text-panel").hidden && by("text").value !== state.text;

function unsaved() {
  if (state.open) return "a rule is open and not applied";
  if (isTextTyped()) return "the whole text is changed and not applied";
  return state.text === state.saved ? "" : "not saved";
}

/** Whether nothing that was typed stands in the way of another action; if it does, say so there. */
const isSettled = () => isFormSettled() && isTextSettled();

function isFormSettled() {
  const stands = state.open && state.form.isTyped();
  if (stands) state.form.warn("This rule is still open: apply it (Ctrl+S) or cancel it (Escape) first.");
  return !stands;
}

function isTextSettled() {
  if (!isTextTyped()) return true;
  showProblem(new Error("The whole text is changed: apply it (Ctrl+S) or cancel it first."));
  by("text").focus();
  return false;
}

async function applied() {
  if (isTextTyped() && !(state.open && state.form.isTyped())) return applyText();
  return state.open ? state.form.apply() : true;
}

async function applyText() {
  const panel = by("text-panel");
  let text;
  let outline;
  do {
    text = by("text").value;
    outline = await ask("read", { text });
    if (panel.hidden || !isFormSettled()) return false;
  } while (text !== by("text").value); // somebody typed on meanwhile
  openText(false);
  take(text, outline);
  return true;
}

async function load() {
  const again = Boolean(state.version);
  const file = await ask("load", {});
  const read = await reading(file.text);
  if (!isSettled()) return;
  Object.assign(state, { saved: file.text, version: file.version });
  by("file").textContent = file.file;
  by("backtest").hidden = !file.hasHistory;
  if (!again) {
    const kept = JSON.parse(localStorage.getItem(`situation of ${file.file}`) || "{}");
    Object.assign(state, { rows: Array.isArray(Object.values(kept.rows || {})[0]) ? kept.rows : {}, now: kept.now || "", file: file.file });
  }
  showChanged(null);
  (again ? take : put)(file.text, ...read);
}

const save = () => inTurn(async () => {
  if (await applied() && state.text !== state.saved) await write(state.version);
});

/** Write the text into a file that is still `version`. */
async function write(version) {
  const { text } = state;
  try {
    const answer = await ask("save", { text, version });
    Object.assign(state, { version: answer.version, saved: text });
    showProblem(null);
    showChanged(null);
    showState(answer.backup ? `saved; the last version is in ${answer.backup}` : "saved");
  } catch (error) {
    if (error.status !== 409) throw error;
    look();
  }
}

function showState(said) {
  const open = unsaved();
  by("state").textContent = open ? `· ${open}` : said || "· saved";
  by("state").className = open ? "changed" : "";
  by("save").disabled = !open;
  by("save").textContent = state.open || isTextTyped() ? "Apply and save" : "Save";
  by("undo").disabled = !state.past.length;
  by("redo").disabled = !state.future.length;
  showAge();
}

function openText(open) {
  by("text-panel").hidden = !open;
  by("as-text").setAttribute("aria-expanded", String(open));
  if (open) by("text").value = state.text;
}

// --------------------------------------------------------------------------------------------------- the list of rules

function show() {
  showState();
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
  const tool = (text, title, edit, action = () => change(edit, item)) =>
    element("button", { type: "button", title, id: `${edit}-${item.number}`, onclick: action, "aria-label": `${title}: ${label}` }, text);
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
        tool("Edit", "Edit", "edit", () => withNumber(item, (number) => openEditor({ number }))),
        tool("↑ Up", "Move up", "up"),
        tool("↓ Down", "Move down", "down"),
        tool("+ Add below", "Add a rule below", "add", () => withNumber(item, (after) => openEditor({ number: null, after }))),
        tool("✕ Delete", "Delete", "delete")),
    ),
  );
}

/** Do something with the number that an item has when its turn comes: the outline may be another one by then. */
function withNumber(item, action) {
  const seen = state.outline;
  return inTurn(async () => {
    if (!isSettled()) return;
    const said = (each) => JSON.stringify([each.kind, each.guards, each.requirement, each.properties]);
    const alike = (outline) => (outline ? outline.items : []).filter((each) => said(each) === said(item));
    const [now, other] = seen === state.outline ? [item] : alike(state.outline);
    if (!now || other || (now !== item && alike(seen).length > 1)) {
      throw new Error("The rules have changed since this button was pressed: look again.");
    }
    await action(now.number);
  });
}

const change = (edit, item) => withNumber(item, async (number) => {
  const answer = await ask("edit", { text: state.text, edit, number });
  if (!isSettled()) return; // somebody typed meanwhile
  take(answer.text, answer.outline);
  refocus(`${edit === "delete" ? "edit" : edit}-${answer.number}`);
});

/** Where the focus was on what is shown anew, give it back. */
function refocus(id) {
  if (document.activeElement === document.body) (by(id) || by("add")).focus();
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

// ------------------------------------------------------------------------------------------------------------ the page

by("add").addEventListener("click", () => inTurn(() => {
  if (state.outline && isSettled()) openEditor({ number: null, after: null });
}));
by("save").addEventListener("click", () => save());
by("undo").addEventListener("click", () => travel("past", "future"));
by("redo").addEventListener("click", () => travel("future", "past"));
by("as-text").addEventListener("click", () => {
  if (!isSettled()) return;
  openText(by("text-panel").hidden);
  showState();
});
by("text").addEventListener("input", () => showState());
by("close-text").addEventListener("click", () => {
  openText(false);
  if (state.outline) showProblem(null);
  showState();
});
by("apply-text").addEventListener("click", () => inTurn(applyText));
by("situation").addEventListener("submit", (event) => event.preventDefault());
document.addEventListener("keydown", (event) => {
  if ((event.ctrlKey || event.metaKey) && event.key === "s") {
    event.preventDefault();
    save();
  }
});
window.addEventListener("beforeunload", (event) => { if (unsaved()) event.preventDefault(); });
window.addEventListener("focus", () => { if (state.version) look(); });
inTurn(load);
