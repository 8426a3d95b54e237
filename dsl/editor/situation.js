"use strict";
// The example situation, and the verdict on it. Used by page.js and rule_form.js.

/** What is noted under a name, which may be one that every object inherits something under, such as constructor. */
const noted = (object, name) => (Object.hasOwn(object, name) ? object[name] : undefined);

function showSituation() {
  const form = by("situation");
  const shape = JSON.stringify([state.outline.sources, state.outline.usesClock]);
  if (form.dataset.shape === shape) return;
  form.dataset.shape = shape;
  form.replaceChildren();
  for (const source of state.outline.sources) {
    const rows = (state.rows[source.name] = noted(state.rows, source.name) || [{}]);
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
    const input = situationInput(field, noted(row, field.name) || "");
    if (noted(row, field.name)) row[field.name] = input.value; // what a list no longer offers is not known
    input.setAttribute("aria-label", label);
    input.name = label;
    input.addEventListener("input", () => { row[field.name] = input.value; keep(); judgeSoon(); });
    const unit = field.sort === "quantity" && field.unit ? element("span", {}, field.unit) : null;
    const wrong = element("span", { className: "wrong", role: "alert" });
    const check = () => {
      wrong.textContent = input.value.trim() ? numberProblem(input) : "";
      if (!wrong.textContent) input.removeAttribute("aria-invalid");
    };
    if (field.sort === "quantity") {
      input.addEventListener("input", check);
      check();
    }
    fields.append(element("label", { className: "field" }, field.name.replaceAll("_", " "), element("span", { className: "with-unit" }, input, unit), wrong));
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
/** Judge a text: the one of the page, or one that has one rule more, of the number `added`. */
async function judge(text, added = Infinity) {
  const own = (asked += 1);
  const box = by("verdict");
  try {
    const verdict = await ask("judge", { text, rows: state.rows, now: state.now });
    if (own === asked) showVerdict(verdict, added);
  } catch (error) {
    if (own !== asked) return;
    box.className = "verdict";
    box.replaceChildren(...message(error.message));
  }
}
const judgeSoon = later(() => judge(state.text), 150);

function showVerdict(verdict, added) {
  if (!state.outline) return;
  const box = by("verdict");
  box.className = `verdict ${verdict.status}`;
  const reasons = verdict.because.map((reason) => {
    // Constants say nothing new, nor does what is not known: the line above the table names it.
    const constant = ([label, value, unit]) => [`${value} ${unit}`.trim(), `${value}${unit}`, `"${value}"`].includes(label);
    const observed = reason.values.filter((each) => each[1] !== null && !constant(each));
    const values = observed.map(([label, value, unit]) => element("tr", {}, element("td", {}, label), element("td", {}, `${value} ${unit}`)));
    if (reason.margin) values.push(element("tr", {}, element("td", {}, "margin"), element("td", {}, reason.margin)));
    return element("li", {},
      element("div", {}, element("b", {}, reason.name), " ", element("span", { className: `tag ${reason.severity}` }, reason.severity)),
      reason.because ? element("div", {}, `because ${reason.because}`) : null,
      reason.others.length ? element("div", {}, `with ${reason.others.join(", ")}`) : null,
      reason.missing.length ? element("div", {}, `not known: ${reason.missing.join(", ")}`) : null,
      element("table", {}, element("tbody", {}, ...values)));
  });
  box.replaceChildren(element("strong", {}, verdict.status), element("ul", {}, ...reasons));
  const outcome = new Map(verdict.because.map((reason) => [reason.number, reason.missing.length ? "undecided" : "failed"]));
  for (const item of state.outline.items) {
    const entry = by(`rule-${item.number}`);
    const said = outcome.get(item.number < added ? item.number : item.number + 1);
    entry.classList.toggle("failed", said === "failed");
    entry.classList.toggle("undecided", said === "undecided");
    const tag = entry.querySelector(":scope > .row .outcome");
    if (tag) {
      tag.className = `outcome${said ? ` tag ${said}` : ""}`;
      tag.textContent = said || "";
    }
  }
}
