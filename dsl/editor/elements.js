"use strict";
// What the other scripts stand on: the state, the server, numbers and messages.

const state = {
  text: "", saved: "", version: "", past: [], future: [], outline: null, rows: {}, now: "",
  open: null, // which rule is in a form, and
  form: null, // that form: `isTyped`, `apply`, `warn`
};
const OTHER = "\u0000other";

const ask = (question, draft) =>
  answered(question, draft, "The editor has ended; start it again. This page still holds your text: see Whole text.");

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

/** An action that is not begun again while it is under way: whoever asks for it then awaits the same. */
function once(action) {
  let going = null;
  return () => (going ??= action().finally(() => { going = null; }));
}

/** Mark an input that needs a number; return what is wrong with it, or "". */
function numberProblem(input) {
  const isNumber = (typed) => /^-?[0-9]+(\.[0-9]+)?([eE][+-]?[0-9]+)?$/.test(typed);
  const typed = input.value.trim();
  input.setAttribute("aria-invalid", String(!isNumber(typed)));
  if (isNumber(typed)) return "";
  const pointed = typed.replace(",", ".");
  return isNumber(pointed) ? `a number is needed, with a point: ${pointed}` : "a number is needed, such as 15";
}

/** A message: its summary, then the line with a caret and the notes, letter under letter. */
function message(text) {
  const [summary, ...rest] = text.split("\n");
  return [element("p", {}, summary), rest.length ? element("pre", {}, rest.join("\n")) : null].filter(Boolean);
}

function showProblem(error) {
  const box = by("problem");
  box.replaceChildren();
  box.hidden = !error;
  if (!error) return;
  box.append(...message(error.message));
}
