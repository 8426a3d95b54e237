"use strict";
// The page that edits a file of rules. The draft is the whole text; every edit is made by the server's grammar, which
// answers with a new text or with the reason why not. Nothing is kept by the server, and an error changes nothing.

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
  if (!from.length || !isSettled()) return;
  state.open = null;
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

// What is typed but not applied is part of nobody's text yet: it counts as unsaved, and no button throws it away.

const isTextTyped = () => !by("text-panel").hidden && by("text").value !== state.text;

function unsaved() {
  if (state.open) return "a rule is open and not applied";
  if (isTextTyped()) return "the whole text is changed and not applied";
  return state.text === state.saved ? "" : "not saved";
}

/** Whether nothing that was typed stands in the way of another action; if it does, say so there. */
function isSettled() {
  if (state.open && state.form.isTyped()) {
    state.form.warn("This rule is still open: apply it (Ctrl+S) or cancel it (Escape) first.");
    return false;
  }
  if (isTextTyped()) {
    showProblem(new Error("The whole text is changed: apply it (Ctrl+S) or cancel it first."));
    by("text").focus();
    return false;
  }
  return true;
}

async function applied() {
  if (state.open) return state.form.apply();
  return isTextTyped() ? applyText() : true;
}

const applyText = once(async () => {
  const text = by("text").value;
  try {
    const outline = await ask("read", { text });
    showProblem(null);
    openText(false);
    take(text, outline);
    return true;
  } catch (error) {
    showProblem(error);
    return false;
  }
});

async function load(again = false) {
  const file = await ask("load", {});
  if (again) {
    state.past.push(state.text);
    state.future = [];
  }
  Object.assign(state, { text: file.text, saved: file.text, version: file.version, open: null });
  by("file").textContent = file.file;
  by("backtest").hidden = !file.hasHistory;
  if (!again) {
    const kept = JSON.parse(localStorage.getItem(`situation of ${file.file}`) || "{}");
    Object.assign(state, { rows: Array.isArray(Object.values(kept.rows || {})[0]) ? kept.rows : {}, now: kept.now || "", file: file.file });
  }
  showChanged(null);
  await refresh();
}

const save = once(async () => {
  if (await applied() && state.text !== state.saved) await write(state.version);
});

/** Write the text into a file that is still `version`. */
async function write(version) {
  const { text } = state;
  state.isWriting = true;
  try {
    const answer = await ask("save", { text, version }).finally(() => { state.isWriting = false; });
    Object.assign(state, { version: answer.version, saved: text });
    showProblem(null);
    showChanged(null);
    showState(answer.backup ? `saved; the last version is in ${answer.backup}` : "saved");
  } catch (error) {
    if (error.status === 409) await look().catch(showProblem);
    else showProblem(error);
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
        tool("↑ Up", "Move up", act("up")),
        tool("↓ Down", "Move down", act("down")),
        tool("+ Add below", "Add a rule below", () => openEditor({ number: null, after: item.number })),
        tool("✕ Delete", "Delete", act("delete"))),
    ),
  );
}

async function change(edit) {
  if (!isSettled()) return false;
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
  if (!isSettled()) return;
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

by("add").addEventListener("click", () => openEditor({ number: null, after: null }));
by("save").addEventListener("click", () => save());
by("undo").addEventListener("click", () => travel(state.past, state.future));
by("redo").addEventListener("click", () => travel(state.future, state.past));
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
by("apply-text").addEventListener("click", () => applyText());
by("situation").addEventListener("submit", (event) => event.preventDefault());
document.addEventListener("keydown", (event) => {
  if ((event.ctrlKey || event.metaKey) && event.key === "s") {
    event.preventDefault();
    save();
  }
});
window.addEventListener("beforeunload", (event) => { if (unsaved()) event.preventDefault(); });
window.addEventListener("focus", () => { if (state.version) look().catch(showProblem); });
load().catch(showProblem);
