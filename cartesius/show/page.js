"use strict";
// The page that steps through a recorded trace. The server makes the trace again and answers for one step at a time; here
// is which engine, which restrictions are left out, and which step. All that comes from outside is set as text.

const state = { run: 0, off: new Set(), step: 0, steps: 0, opened: 0, asked: 0, toggled: null, why: null, playing: null, runs: [] };
const PACE = 900; // milliseconds from step to step

// ------------------------------------------------------------------------------------------------ server and elements

const ask = (question, draft = {}) =>
  answered(question, { run: state.run, off: [...state.off], ...draft }, "The command has ended; start it again.");

function showProblem(text) {
  by("problem").hidden = !text;
  by("problem").textContent = text;
}

async function trying(action) {
  try {
    await action();
    showProblem("");
  } catch (error) {
    pause();
    showProblem(error.message);
  }
}

const many = (n, one, more = `${one}s`) => `${n} ${n === 1 ? one : more}`;

/** An event as a button that tells why. */
function event(said, tag = null) {
  const button = element("button", { type: "button", className: "event", onclick: () => trying(() => why(said.id, true)) }, said.text);
  return tag ? [button, " ", tag] : [button];
}

function tag(kind, text) {
  return element("span", { className: `tag ${kind}` }, text);
}

function parts(found) {
  if (!found.length) return null;
  return element("ul", { className: "list" }, ...found.map((part) => element("li", {}, `${part.slot} = `, ...event(part), parts(part.parts))));
}

function listed(heading, items) {
  if (!items.length) return null;
  return element("div", {}, element("h3", {}, heading), element("ul", { className: "list" }, ...items));
}

// ------------------------------------------------------------------------------------------------------ the whole trace

async function start() {
  const answer = await ask("runs");
  state.runs = answer.runs;
  state.run = answer.chosen;
  document.title = `${answer.title} at work`;
  by("title").textContent = `${answer.title} at work`;
  by("run").replaceChildren(...answer.runs.map((run, number) => element("option", { value: number }, `${run.title} (${many(run.calls, "step")})`)));
  by("run").value = String(state.run);
  by("run-label").hidden = answer.runs.length < 2;
  await open(0);
}

async function open(step) {
  state.opened += 1;
  const number = state.opened;
  const slow = setTimeout(() => { by("summary").textContent = "The trace is made again …"; }, 400);
  let answer;
  try {
    answer = await ask("open");
  } finally {
    clearTimeout(slow);
  }
  if (number !== state.opened) return; // another engine has been chosen, or another restriction, meanwhile
  state.steps = answer.steps;
  by("run-title").textContent = state.runs.length < 2 ? answer.title : ""; // else it is what is chosen
  const cut = answer.calls > answer.most ? ` (the first of ${answer.calls})` : "";
  by("count").textContent = `${answer.steps}${cut}`;
  by("range").max = by("number").max = String(answer.steps);
  by("failure").hidden = !answer.failure;
  by("failure").textContent = answer.failure;
  showSwitches(answer);
  showDifferences(answer);
  state.why = null;
  by("why").hidden = true;
  await go(step);
}

function showSwitches(answer) {
  const focused = document.activeElement && document.activeElement.id;
  const boxes = new Map();
  for (const one of answer.switches) {
    if (!boxes.has(one.correlation)) {
      boxes.set(one.correlation, element("fieldset", {}, element("legend", {}, one.correlation)));
    }
    const id = `switch-${one.number}`;
    const said = element("p", { className: "hint", id: `${id}-said` }, one.said.replaceAll("`", ""));
    const input = element("input", { type: "checkbox", id, checked: one.on, "aria-describedby": said.id, onchange: () => toggle(one.number) });
    const refusal = answer.refusal && state.toggled === one.number ? element("p", { className: "problem", role: "alert" }, `It cannot be left out like this: ${answer.refusal}`) : null;
    boxes.get(one.correlation).append(
      element("div", { className: one.on ? "switch" : "switch off" }, input, element("label", { htmlFor: id }, one.text), said, refusal));
  }
  if (!boxes.size) boxes.set("", element("p", { className: "hint" }, "This program has none."));
  by("switches").replaceChildren(...boxes.values());
  if (focused && by(focused)) by(focused).focus();
}

function toggle(number) {
  state.toggled = number;
  if (state.off.has(number)) state.off.delete(number);
  else state.off.add(number);
  trying(() => open(state.step));
}

function showDifferences(answer) {
  by("difference-panel").hidden = !state.off.size;
  const { counts } = answer;
  if (!counts) {
    by("counts").textContent = answer.refusal ? "What is shown is the program as written." : "";
  } else {
    const all = counts.new + counts.gone + counts.moved;
    const said = [counts.new && `${many(counts.new, "result is", "results are")} new`, counts.gone && `${many(counts.gone, "is", "are")} gone`, counts.moved && `${many(counts.moved, "comes", "come")} at another step`];
    by("counts").textContent = all ? `${said.filter(Boolean).join(", ")}.` : "No result differs.";
    if (all > answer.differences.length) by("counts").textContent += ` The first ${answer.differences.length} are listed.`;
  }
  by("differences").replaceChildren(...answer.differences.map(difference));
}

function difference(one) {
  const words = { new: "new", gone: "gone", moved: `as written at step ${one.written}` };
  const jump = element("button", { type: "button", onclick: () => trying(() => go(one.step)) }, `Step ${one.step}`);
  const heading = one.kind === "new" ? "As written it does not come, as" : "It does not come, as";
  const reasons = one.reasons.length ? [element("p", { className: "meta" }, heading), element("ul", { className: "list" }, ...one.reasons.map((reason) => element("li", {}, reason)))] : [];
  return element("li", {}, jump, " ", ...event(one, tag(one.kind, words[one.kind])), ...reasons);
}

// ------------------------------------------------------------------------------------------------------------ one step

async function go(step) {
  const wanted = Math.max(0, Math.min(step, state.steps));
  state.asked += 1;
  const number = state.asked;
  state.step = wanted;
  showPosition();
  const answer = await ask("step", { step: wanted });
  if (number !== state.asked) return; // a later one has been asked for
  showStep(answer);
  showPlaces(answer);
  showPicture(answer);
  if (state.why !== null) await why(state.why, false);
}

function showPosition() {
  by("range").value = by("number").value = String(state.step);
  by("range").setAttribute("aria-valuetext", `step ${state.step} of ${state.steps}`);
  by("first").disabled = by("back").disabled = state.step === 0;
  by("next").disabled = by("last").disabled = state.step === state.steps;
}

function showStep(answer) {
  const left = answer.left.length ? ` ${many(answer.left.length, "event leaves", "events leave")}.` : "";
  const given = answer.step ? ` ${answer.results ? many(answer.results, "result") : "No result"}.` : "";
  by("summary").textContent = `Step ${answer.step} of ${state.steps}: ${answer.call}${given}${left}`;
  const kinds = { new: tag("new", "new"), moved: tag("moved", "at another step as written") };
  const more = answer.results > answer.given.length ? [element("li", { className: "meta" }, `and ${answer.results - answer.given.length} more`)] : [];
  const found = [
    answer.pushed ? element("p", {}, "Came: ", ...event(answer.pushed)) : element("p", {}, answer.call),
    listed("Results", [...answer.given.map((one) => element("li", {}, ...event(one, one.back ? tag("gone", "taken back") : one.kind ? kinds[one.kind].cloneNode(true) : null), parts(one.parts))), ...more]),
    listed("Results that are gone", answer.gone.map((one) => element("li", {}, ...event(one, tag("gone", "gone")), parts(one.parts)))),
    listed("Nothing came of it: it", answer.nothing.map((reason) => element("li", {}, reason))),
    listed("Left", answer.left.map((one) => element("li", {}, ...event(one.event), ` was ${one.place}${one.why ? `: ${one.why}` : ""}`))),
    listed("Set aside", answer.aside.map((one) => element("li", {}, ...event(one.event), ` of ${one.place}: ${one.why}`))),
    listed("Not let through", answer.dropped.map((one) => element("li", {}, `an event of ${one.slot}, by ${one.gate}`))),
    element("p", { className: "meta" }, `Clock: ${answer.clock}. Next deadline: ${answer.deadline === null ? "none" : answer.deadline}.`),
  ];
  by("step").replaceChildren(...found.filter((one) => one !== null));
}

function showPlaces(answer) {
  by("places").replaceChildren(...answer.correlations.map((one) => element("div", {},
    element("h3", {}, one.name),
    element("div", { className: "slots" }, ...one.slots.map(slot)))));
}

function slot(one) {
  const box = element("div", { className: "slot" });
  box.append(element("h4", {}, one.name === one.source ? one.name : `${one.name}, of ${one.source}`));
  for (const place of one.places) {
    const rest = place.count - place.events.length;
    box.append(element("p", { className: "meta" }, `${place.name}: ${place.count ? many(place.count, "event") : "empty"}`));
    const items = place.events.map((each) => element("li", {}, ...event(each, each.new ? tag("came", "came now") : null), each.keys ? element("span", { className: "meta" }, ` key ${each.keys}`) : null));
    if (rest) items.push(element("li", { className: "meta" }, `and ${rest} older`));
    if (items.length) box.append(element("ul", { className: "list" }, ...items));
  }
  return box;
}

function showPicture(answer) {
  const read = new DOMParser().parseFromString(answer.svg, "image/svg+xml").documentElement;
  const picture = document.importNode(read, true);
  picture.setAttribute("role", "group");
  const box = by("picture");
  const had = box.contains(document.activeElement) && document.activeElement !== box;
  box.replaceChildren(picture);
  const groups = [...picture.children].filter((child) => child.tagName === "g");
  let now = null;
  groups.forEach((group, place) => {
    const marble = answer.marbles[place];
    if (!marble) return;
    const isNow = marble.step === answer.step;
    if (isNow) now = now || group;
    group.classList.add(isNow ? "now" : marble.step > answer.step ? "later" : "earlier");
    group.setAttribute("role", "button");
    group.setAttribute("tabindex", isNow ? "0" : "-1");
    group.setAttribute("aria-label", `step ${marble.step}: ${marble.text}: why?`);
    const chosen = () => trying(async () => {
      if (marble.step > state.step) await go(marble.step);
      await why(marble.id, true);
    });
    group.addEventListener("click", chosen);
    group.addEventListener("keydown", (key) => {
      if (key.key !== "Enter") return;
      key.preventDefault();
      chosen();
    });
  });
  const names = [...picture.children].filter((child) => child.tagName === "text" && child.querySelector("title"));
  const follow = () => {
    const above = box.scrollLeft > 0 ? -15 : 0; // where marbles would be below them
    for (const name of names) name.setAttribute("transform", `translate(${box.scrollLeft} ${above})`);
  };
  for (const name of names) name.classList.add("lane");
  picture.append(...names); // above what they stand on, wherever the picture is scrolled to
  box.onscroll = follow;
  follow();
  if (!now) return;
  const { left, width } = now.getBoundingClientRect();
  box.scrollLeft += left + width / 2 - box.getBoundingClientRect().left - box.clientWidth / 2;
  if (had) now.focus({ preventScroll: true });
}

async function why(id, move) {
  const answer = await ask("why", { id, step: state.step });
  state.why = id;
  by("why").hidden = false;
  by("why-heading").textContent = `Why? After step ${answer.step}`;
  by("why-text").textContent = answer.text;
  if (move) by("why-heading").focus();
}

// ------------------------------------------------------------------------------------------------------------- playing

function play() {
  if (state.playing !== null || state.step === state.steps) return;
  by("play").textContent = "Pause";
  state.playing = setInterval(() => {
    if (state.step === state.steps) pause();
    else trying(() => go(state.step + 1));
  }, PACE);
}

function pause() {
  clearInterval(state.playing);
  state.playing = null;
  by("play").textContent = "Play";
}

const MOVES = {
  ArrowRight: () => state.step + 1,
  ArrowLeft: () => state.step - 1,
  Home: () => 0,
  End: () => state.steps,
};

function move(key) {
  pause();
  trying(() => go(MOVES[key]()));
}

for (const [id, key] of [["first", "Home"], ["back", "ArrowLeft"], ["next", "ArrowRight"], ["last", "End"]]) {
  by(id).addEventListener("click", () => move(key));
}
const playOrPause = () => (state.playing === null ? play() : pause());
by("play").addEventListener("click", playOrPause);
by("range").addEventListener("input", () => { pause(); trying(() => go(Number(by("range").value))); });
by("number").addEventListener("change", () => { pause(); trying(() => go(Math.trunc(Number(by("number").value)) || 0)); });
by("run").addEventListener("change", () => {
  pause();
  state.run = Number(by("run").value);
  state.off.clear();
  trying(() => open(0));
});
by("why-close").addEventListener("click", () => {
  state.why = null;
  by("why").hidden = true;
  by("happened").focus();
});
by("switches").addEventListener("submit", (submitted) => submitted.preventDefault());
document.addEventListener("keydown", (key) => {
  if (key.ctrlKey || key.altKey || key.metaKey || key.shiftKey) return;
  const { target } = key;
  if (target.matches("select, textarea, input:not([type=checkbox])")) return;
  if (key.key in MOVES) {
    key.preventDefault();
    move(key.key);
  } else if (key.key === " " && !target.matches("button, input, summary, a")) {
    key.preventDefault();
    playOrPause();
  }
});

trying(start);
