"""Answers for people: sentences, and one line for each row that was looked at.

Names come from transmitters: what is printed has no control character in it.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

from dsl.audit.answer_data import iso, said
from dsl.command_lines import printable
from dsl.english.phrases import clauses, phrase

if TYPE_CHECKING:
    from collections.abc import Collection, Iterator

    from dsl.audit.answers import Answer, ReadRow
    from dsl.english.naming import Names
    from dsl.judgements.accounts import Accounted
    from dsl.meaning.verdicts import Shown

_HEADINGS: Final = (
    ("fails", "What fails", "✗"),
    ("undecided", "What could not be decided", "?"),
    ("holds", "What holds", "✓"),
    ("does not apply", "What did not apply", "-"),
)
_UNITS: Final = ((86_400, "d"), (3_600, "h"), (60, "min"), (1, "s"))


def told(answer: Answer, *, with_all: bool = False) -> str:
    """Return an answer as text; the requirements that did not apply are counted, and listed where that is asked for."""
    what = answer.kind.replace("_", " ")
    who = f"{answer.name.strip()} ({what} {answer.subject})" if answer.name else f"{what.capitalize()} {answer.subject}"
    if answer.verdict is None:
        first = f"{who} was not judged at {moment(answer.at)}: the rules do not consider it then."
    else:
        first = f"{who} was {answer.verdict.status} at {moment(answer.at)}."
    since = ""
    if answer.since is not None:
        since = f", in force since {answer.since[0]:%Y-%m-%d %H:%M:%S} UTC (put there by {answer.since[1]})"
    lines = [first, f'Judged by the rules "{answer.pack_name}", version {answer.pack}{since}.']
    accounted = () if answer.account is None else answer.account.requirements
    for outcome, heading, mark in _HEADINGS:
        found = [each for each in accounted if each.outcome == outcome]
        if outcome == "does not apply" and found and not with_all:
            number = f"{len(found)} requirement{'s' if len(found) > 1 else ''}"
            lines += ["", f"{number} did not apply; --all lists what would have had to hold for them."]
        elif found:
            lines += ["", heading]
            lines += [line for each in found for line in _requirement(each, mark, answer.names)]
    lines += ["", "Decided from" if answer.account else "Known of it"]
    lines += [f"  {_row(each, answer.at)}" for each in answer.rows]
    if answer.unread:
        lines += ["", f"Of what was observed, rows that could not be read and did not count: {answer.unread}."]
    return "\n".join(one_line(line) for line in lines)


def one_line(text: str) -> str:
    r"""Return a text without anything that a terminal would obey.

    >>> print(one_line("EVA\x1b[2J\n"))
    EVA\x1b[2J\n
    """
    return printable(text).replace("\n", "\\n")


def moment(time: int) -> str:
    """Return a time, in microseconds since the epoch, to the second.

    >>> moment(1_593_518_400_000_000)
    '2020-06-30 12:00:00 UTC'
    """
    shown = iso(time)
    return f"{shown[:10]} {shown[11:19]} UTC"


def age(microseconds: int) -> str:
    """Return how old something is, in its two greatest units.

    >>> age(3_723_000_000), age(400_000)
    ('1 h 2 min old', 'less than a second old')
    """
    left = microseconds // 1_000_000
    shown: list[str] = []
    for size, unit in _UNITS:
        if left >= size and len(shown) < 2:
            shown.append(f"{left // size} {unit}")
            left %= size
        elif shown:
            break
    return f"{' '.join(shown)} old" if shown else "less than a second old"


def _requirement(each: Accounted, mark: str, names: Names) -> Iterator[str]:
    reason = each.reason
    name = "" if reason.name == reason.text else f"{reason.name}: "
    because = f", because {reason.because.strip().rstrip('.')}" if reason.because else ""
    yield f"  {mark} {name}{said(each, names)}{because}."
    if each.outcome == "does not apply":
        untrue = [phrase(condition, "is", names) for condition, holds in each.conditions if holds is False]
        yield f"      Only where {' and '.join(clauses(untrue, 'is'))}."
        return
    if reason.missing:
        old = f" (too old: {', '.join(reason.stale)})" if reason.stale else ""
        yield f"      Not known: {', '.join(reason.missing)}{old}."
    if each.bound is not None and each.bound.value[1] is not None and not reason.missing:
        limit = " and ".join(_amount(limit, each.instants) for limit in each.bound.limits)
        how = f"{each.bound.how} {limit}".strip()
        yield f"      It was {_amount(each.bound.value, each.instants)}; it must be {how}{_margin(each)}."
    if reason.others:
        yield f"      With {', '.join(map(str, reason.others))}."
    seen = [f"{value[0]} {_amount(value, each.instants)}" for value in reason.values if _is_read(value[0], each)]
    if seen:
        yield f"      Read: {', '.join(seen)}."


def _is_read(label: str, each: Accounted) -> bool:
    """Whether a value that a reason shows is one that was read, and is not said already."""
    compared = [] if each.bound is None else [shown[0] for shown in (each.bound.value, *each.bound.limits)]
    return label not in compared and label.partition(".")[0] in each.reads


def _margin(each: Accounted) -> str:
    if each.reason.margin is None:
        return ""
    distance, unit = each.reason.margin
    if not distance and each.outcome == "fails":
        return ": at the limit itself"
    return f": {_number(abs(distance))} {unit}".rstrip() + (" to spare" if distance >= 0 else " beyond the limit")


def _amount(value: Shown, instants: Collection[str] = ()) -> str:
    label, amount, unit = value
    if label in instants and isinstance(amount, int):
        return moment(amount)
    return "not known" if amount is None else f"{_number(amount)} {unit}".rstrip()


def _number(amount: Any) -> str:
    if isinstance(amount, tuple):
        return ", ".join(map(_number, amount))
    return f"{amount:.6g}" if isinstance(amount, float) else str(amount)


def _row(row: ReadRow, at: int) -> str:
    source = row.source.replace("_", " ")
    if row.time is None:
        return f"{source}: no row"
    which = source if row.key is None else f"{source} {row.key}"
    old = ", too old to count" if row.is_stale else ""
    many = f", the newest of {row.count} rows" if row.count > 1 else ""
    values = ", ".join(
        f"{label.replace('_', ' ')} {_amount((label, value, unit))}" for label, value, unit in row.values
    )
    return f"{which}, of {moment(row.time)} ({age(at - row.time)}{old}{many})" + (f": {values}" if values else "")
