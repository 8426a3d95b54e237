"""A comparison for the terminal: what changes, by rule and by subject, and the flaws that come and go.

Names and rules come from outside; they are shown as they are, and never do anything to a terminal: in a table they are
made printable here, so that their columns are as wide as they are, and anywhere else by the console.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from rich.box import SIMPLE_HEAD
from rich.table import Table
from rich.text import Text

from dsl.command_lines import printable
from dsl.comparison.comparison_words import COLOURS, begun, changed_rules, longest, marked, spanned, why

if TYPE_CHECKING:
    from collections.abc import Iterable

    from rich.console import Console

    from dsl.comparison.comparing import Comparison


def report(console: Console, found: Comparison, rows: int = 20) -> None:
    """Print a comparison.

    Args:
        console: Where to.
        found: It.
        rows: How many of the differences are printed, the longest first.
    """
    subject = next(iter(found.old.declarations))
    console.print(Text(f"{found.rows:,} rows, {found.subjects:,} subjects ({subject}), {spanned(found)}"))
    if found.number_unread:
        _unread(console, found)
    if found.is_empty:
        console.print(
            Text("✓ Nothing changes: neither a verdict, nor its reasons, nor the flaws of the rules.", "bold")
        )
        return
    _statuses(console, found, subject)
    _rules(console, found, subject)
    _differences(console, found, rows)
    for title, findings in (
        ("Flaws of the new rules that the old ones have not", found.findings),
        ("Flaws of the old rules that are mended", found.mended),
    ):
        if findings:
            console.print(Text(f"\n{title}: {len(findings)}", "bold"))
            for each in findings:
                console.print(Text(str(each)))
    one, other = found.hours("before"), found.hours("after")
    said = f"\nRestricted: {one:,.1f} {subject}-hours before, {other:,.1f} after ({other - one:+,.1f})"
    console.print(Text(said, "bold"))
    if found.at_the_end:
        console.print(Text(begun(found), "bold"))


def _unread(console: Console, found: Comparison) -> None:
    said = f"{found.number_unread:,} rows cannot be read, and were not used:"
    console.print(Text(said, f"bold {COLOURS['restricted']}"))
    for each in found.unread[:5]:
        console.print(Text(f"  {each}"))
    if found.number_unread > 5:
        console.print(Text(f"  … and {found.number_unread - 5:,} more"))


def _statuses(console: Console, found: Comparison, subject: str) -> None:
    table = _table(f"What becomes of a {subject}", ("",), ("subjects", f"{subject}-hours"))
    for each in found.statuses:
        style = "dim" if each.before == each.after else ""
        table.add_row(_becomes(each.before, each.after), f"{each.subjects:,}", f"{each.hours:,.1f}", style=style)
    console.print(table)


def _rules(console: Console, found: Comparison, subject: str) -> None:
    changed = changed_rules(found)
    if not changed:
        return
    table = _table(f"{subject}-hours restricted by rule", ("rule",), ("before", "after", "change", "subjects"))
    for each in changed:
        hours = (f"{each.before:,.1f}", f"{each.after:,.1f}", f"{each.change:+,.1f}")
        number = f"{each.subjects_before:,} → {each.subjects_after:,}"
        table.add_row(Text(printable(each.rule)), *hours, number)
    same = len(found.rules) - len(changed)
    if same:
        table.caption = f"{same} more restrict as long as before"
    console.print(table)


def _differences(console: Console, found: Comparison, rows: int) -> None:
    number = found.differences.num_rows
    if not number or not rows:
        return
    title = "When it differs" if number <= rows else f"The longest {rows} of {number:,} differences"
    table = _table(title, ("from (UTC)", "to", "subject", "change and why"), ())
    for row in longest(found, rows):
        called = f"{row['subject']} {row['name'] or ''}".rstrip()
        same_day = row["start"].date() == row["end"].date()
        until = f"{row['end']:%H:%M}" if same_day else f"{row['end']:%Y-%m-%d %H:%M}"
        ends = f"{row['start']:%Y-%m-%d %H:%M}", "the end" if row["start"] == row["end"] else until
        said = _becomes(row["status_before"], row["status_after"]).append(f": {why(row)}", style="default")
        table.add_row(*ends, Text(printable(called)), said)
    console.print(table)


def _becomes(before: str, after: str) -> Text:
    """Return the two marks, or the one."""
    text = Text(marked(after), COLOURS.get(after, ""))
    return text if before == after else Text(marked(before), COLOURS.get(before, "")).append(" → ", "default") + text


def _table(title: str, words: Iterable[str], numbers: Iterable[str]) -> Table:
    table = Table(
        title=f"\n{title}",
        title_justify="left",
        title_style="bold",
        caption_justify="left",
        box=SIMPLE_HEAD,
        pad_edge=False,
        show_edge=False,
    )
    for each in words:
        table.add_column(each, overflow="fold")
    for each in numbers:
        table.add_column(each, justify="right")
    return table
