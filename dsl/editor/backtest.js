"use strict";
// What the draft would change over a history, beside the file as it is saved. Used by page.js.

const SIGNS = { allowed: "✓", restricted: "✗", unknown: "?" };
let compared = null; // the text that the panel is about

by("backtest").addEventListener("click", () => { if (isSettled()) runBacktest(); });

const runBacktest = once(async () => {
  const { text } = state;
  const button = by("backtest");
  button.disabled = true;
  compared = text;
  fillPanel(element("p", { role: "status" }, "Judging the history by the saved file and by this text …"));
  try {
    showBacktest(await ask("backtest", { text }));
  } catch (error) {
    fillPanel(element("div", { className: "wrong" }, ...message(error.message)));
  } finally {
    button.disabled = false;
  }
});

function fillPanel(...parts) {
  const panel = by("backtest-panel");
  const close = () => { panel.hidden = true; compared = null; by("backtest").focus(); };
  panel.replaceChildren(
    element("div", { className: "heading" },
      element("h2", { id: "backtest-heading", tabIndex: -1 }, "What this text would change"),
      element("button", { type: "button", onclick: close }, "Close")),
    element("p", { id: "backtest-age", className: "hint", hidden: true }, "The text has changed since: compare again."),
    ...parts);
  panel.hidden = false;
  showAge();
}

/** Say so if the panel is about another text than the one on the page. */
function showAge() {
  const age = by("backtest-age");
  if (age) age.hidden = compared === null || compared === state.text;
}

function showBacktest(found) {
  const hours = (number) => number.toLocaleString("en", { minimumFractionDigits: 1, maximumFractionDigits: 1 });
  const signed = (number) => `${number < 0 ? "" : "+"}${hours(number)}`;
  const mark = (status) => element("span", { className: `mark ${status}` }, `${SIGNS[status] || "·"} ${status}`);
  const becomes = (before, after) => before === after ? [mark(after)] : [mark(before), " → ", mark(after)];
  const flaws = (title, texts) => texts.length
    ? element("div", {}, element("h3", {}, `${title}: ${texts.length}`), ...texts.map((each) => element("pre", {}, each))) : null;
  const parts = [element("p", { className: "hint" }, found.said)];
  if (found.numberUnread) {
    parts.push(flaws(`${found.numberUnread} rows cannot be read, and were not used`, [found.unread.join("\n")]));
  }
  if (found.isEmpty) {
    parts.push(element("p", {}, "Nothing changes: neither a verdict, nor its reasons, nor the flaws of the rules."));
  } else {
    const change = signed(found.after - found.before);
    parts.push(
      element("p", { className: "sum" },
        `Restricted for ${hours(found.before)} ${found.subject}-hours before, ${hours(found.after)} after (${change})`),
      found.begun ? element("p", {}, found.begun) : null,
      element("div", { className: "sides" },
        grid(`What becomes of a ${found.subject}`, ["", "subjects", `${found.subject}-hours`],
          found.statuses.map((each) => [becomes(each.before, each.after), String(each.subjects), hours(each.hours)])),
        grid(`${found.subject}-hours restricted by rule`, ["rule", "before", "after", "change", "subjects"],
          found.rules.map((each) => [each.rule, hours(each.before), hours(each.after), signed(each.change), each.subjects]))),
      grid(found.number > found.differences.length
        ? `The longest ${found.differences.length} of ${found.number} differences` : "When it differs",
      ["from (UTC)", "to", found.subject, "change", "why"],
      found.differences.map((each) =>
        [each.start, each.end, `${each.subject} ${each.name}`.trim(), becomes(each.before, each.after), each.why])),
      flaws("Flaws of this text that the saved file has not", found.findings),
      flaws("Flaws of the saved file that are mended", found.mended));
  }
  fillPanel(...parts.filter(Boolean));
  by("backtest-heading").focus();
}

/** A table; on a narrow screen it scrolls within itself. */
function grid(title, headings, rows) {
  if (!rows.length) return null;
  const cells = (tag, values) => element("tr", {}, ...values.map((value) =>
    element(tag, tag === "th" ? { scope: "col" } : {}, ...(Array.isArray(value) ? value : [value]))));
  return element("div", { className: "wide", tabIndex: 0, role: "region", "aria-label": title },
    element("table", {}, element("caption", {}, title),
      element("thead", {}, cells("th", headings)), element("tbody", {}, ...rows.map((row) => cells("td", row)))));
}
