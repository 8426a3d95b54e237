"use strict";
// Two people's edits of one file: whoever saves second is told, sees both, and chooses. Used by page.js.

/** Ask whether somebody else changed the file since it was opened here, and say so. */
async function look() {
  const { version } = state;
  const found = await ask("compare", { version, base: state.saved, text: state.text }).catch(showProblem);
  await inTurn(async () => {
    if (!found || state.version !== version) return; // the change is this page's own
    if (!found.changed) showChanged(null);
    else if (unsaved() || found.version === null) showChanged(found);
    else {
      await load();
      showState("the file was changed elsewhere: this is its new text, the one before is under Undo");
    }
  });
}

function showChanged(found) {
  const box = by("changed");
  box.replaceChildren();
  box.hidden = !found;
  if (!found) return;
  const isGone = found.version === null;
  const at = isGone ? "" : new Date(found.at).toLocaleString([], { dateStyle: "medium", timeStyle: "short" });
  const heading = element("h2", { id: "changed-heading", tabIndex: -1 }, isGone
    ? `${state.file} is no longer there`
    : `${state.file} was changed by somebody else, or in another tab, on ${at}`);
  const button = (words, onclick, className = "") => element("button", { type: "button", onclick, className }, words);
  const theirs = () => inTurn(async () => { if (isSettled()) await load(); });
  const mine = () => inTurn(async () => {
    if (!(await applied())) return;
    if (!isGone) state.past.push(found.text);
    await write(found.version);
    showState();
  });
  box.append(heading,
    element("p", {}, isGone ? "Your text is here still." : "Neither text is lost, whichever you choose."),
    element("div", { className: "sides" },
      isGone ? null : difference("They changed", found.theirs),
      difference("You changed", found.mine)),
    element("div", { className: "actions" },
      isGone ? null : button("Take theirs; mine stays under Undo", theirs),
      button(isGone ? "Write mine" : `Save mine; theirs stays under Undo and in ${state.file}.bak`, mine),
      button("Decide later", () => showChanged(null))));
  heading.focus();
}

/** Lines that are gone, new or unchanged; each says in words which. */
function difference(title, lines) {
  const kinds = { "-": ["del", "gone"], "+": ["ins", "new"], " ": ["span", "unchanged"], "…": ["span", "left out"] };
  const shown = lines.map(([sign, line]) => element(kinds[sign][0], { className: "line" },
    element("span", { className: "unseen" }, `${kinds[sign][1]}: `), `${sign} ${line}`));
  return element("div", {}, element("h3", {}, title),
    shown.length ? element("pre", {}, ...shown) : element("p", { className: "hint" }, "Nothing that is applied."));
}
