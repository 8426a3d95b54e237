"use strict";
// What the other scripts stand on: the state, the server, elements, numbers and messages.

// Behind the # of the address that the editor printed: no browser sends that part anywhere.
const token = location.hash.slice(1);
const by = (id) => document.getElementById(id);
const state = {
  text: "", saved: "", version: "", past: [], future: [], outline: null, rows: {}, now: "",
  open: null, // which rule is in a form, and
  form: null, // that form: `isTyped`, `apply`, `warn`
  isWriting: false,
};
const OTHER = "\u0000other";

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
