"""What feeds write and the board reads: changes of verdicts, readings, and batches of both.

Times are microseconds since the epoch, event time unless said otherwise.
"""

from __future__ import annotations

from itertools import permutations
from typing import TYPE_CHECKING, Any, Final, TypeAlias, get_args

import attrs

from dsl.terms.intervals import Operator
from dsl.terms.statements import Requirement
from dsl.terms.texts import text
from dsl.versions import PackChanges, changes
from examples.port.marks import in_words

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping, Sequence

    from dsl import RulePack, Verdict
    from dsl.meaning.verdicts import Reason, Shown
    from dsl.terms.statements import Statement
    from examples.port.input_files import Values

    Row: TypeAlias = Values

GONE: Final = "gone"
"""The status of a change after which a ship is no longer judged."""
KEYS: Final = {"berth": "id", "tide": "sensor", "stream": "station", "wind": "station", "vessel": "mmsi"}
"""The sources, and which field of each is its key."""
_COMPARISONS: Final = get_args(Operator)


@attrs.frozen
class Failed:
    """A requirement that fails.

    Args:
        rule: Its name.
        because: Its author's reason; "" for none.
        value: What it compares, as it was, in words.
        limit: With what it is compared, in words.
        margin: How far that is from the limit, in words, negative beyond it; None: there is no such distance.
    """

    rule: str
    because: str
    value: str
    limit: str
    margin: str | None


@attrs.frozen
class Missing:
    """A requirement that is not decided, and for want of what."""

    rule: str
    what: tuple[str, ...]


@attrs.frozen
class Change:
    """A change of a ship's verdict.

    Args:
        time: When.
        mmsi: The ship.
        name: What she is called.
        status: allowed, restricted, unknown, or `GONE`.
        failed: The requirements that fail, in the order of the rules.
        missing: Those that are not decided.
        pack: The version of the rules.
        read: Of each source that was read, the key of the row, and the time of its reading.
        id: Its place in the order of the store; 0: it is in none.
    """

    time: int
    mmsi: int
    name: str
    status: str
    failed: tuple[Failed, ...] = ()
    missing: tuple[Missing, ...] = ()
    pack: str = ""
    read: Mapping[str, tuple[str, int]] = {}
    id: int = 0


@attrs.frozen
class Seen:
    """A reading: of which source, the key of its row, when, and the row."""

    source: str
    key: str
    time: int
    row: Row


@attrs.frozen
class Pack:
    """A version of the rules that is in force from a time on.

    Args:
        version: Its hash.
        at: From when on.
        changed: When that was done, in microseconds of wall time.
        who: By whom.
        rules: The name and the text of each, in order.
        number: After how many readings, or micro-batches, of its feed.
        text: The whole text.
        differs: What differs from the rules before; None: there were none.
    """

    version: str
    at: int
    changed: int
    who: str
    rules: tuple[tuple[str, str], ...]
    number: int
    text: str
    differs: PackChanges | None


@attrs.frozen
class Batch:
    """What a feed writes at once, or not at all.

    Args:
        feed: Which one.
        number: Greater than that of each batch of the feed before; one that is not changes nothing.
        until: All before that has been judged.
        changes: In order.
        readings: In order.
    """

    feed: str
    number: int
    until: int
    changes: Sequence[Change] = ()
    readings: Sequence[Seen] = ()


def change_of(time: int, name: str, verdict: Verdict, read: Mapping[str, tuple[str, int]]) -> Change:
    """Return a verdict as a change."""
    return Change(
        time,
        int(verdict.subject),
        name,
        verdict.status,
        tuple(map(failure, verdict.failed)),
        tuple(Missing(each.name, each.missing) for each in verdict.because if each.missing),
        verdict.pack,
        read,
    )


def failure(reason: Reason) -> Failed:
    """Return a reason for which a verdict is restricted as what fails."""
    return failed_of(reason.name, reason.because, reason.text, reason.values, reason.margin)


def failed_of(
    rule: str, because: str | None, condition: str, values: Iterable[Shown], margin: tuple[float, str] | None
) -> Failed:
    """Return a requirement that fails, with what its condition compares; if that is more, with all that it reads.

    >>> shown = [("tide.height", 0.4, "m"), ("clearance", 98.7, "cm"), ("100 cm", 100, "cm")]
    >>> failed_of("clearance", None, "clearance >= 100 cm", shown, (-1.3, "cm"))
    Failed(rule='clearance', because='', value='98.7 cm', limit='100 cm', margin='-1.3 cm')
    """
    said = {label: "not known" if value is None else amount(value, unit) for label, value, unit in values}
    value, limit = _compared(condition, said)
    return Failed(rule, because or "", value, limit, None if margin is None else amount(*margin))


def _compared(condition: str, said: Mapping[str, str]) -> tuple[str, str]:
    """The value and the limit of a comparison, on whichever side a constant stands; of anything else no limit."""
    for left, right in permutations(said, 2):
        if any(condition == f"{left} {symbol} {right}" for symbol in _COMPARISONS):
            return (said[right], said[left]) if said[left] == left.strip('"') else (said[left], said[right])
        if condition.startswith(f"between({left}, {right}, "):
            last = condition.removeprefix(f"between({left}, {right}, ").removesuffix(")")
            return said[left], f"{said[right]} to {said.get(last, last)}"
    read = {label: shown for label, shown in said.items() if all(map(str.isidentifier, label.split(".")))}
    labelled = [f"{in_words(label)} {shown}" for label, shown in read.items()]
    return ", ".join(read.values() if len(read) == 1 else labelled), ""


def amount(value: Any, unit: str) -> str:
    """Return a value with its unit.

    >>> amount(-1.2999999999998, "cm"), amount(22052.0, "m²"), amount("tanker", "")
    ('-1.3 cm', '22052 m²', 'tanker')
    """
    shown = f"{value:.6g}" if isinstance(value, float) else str(value)
    return f"{shown}{unit}" if unit == "°" else f"{shown} {unit}".rstrip()


def noted(pack: RulePack, at: int, changed: int, who: str, *, number: int = 0, before: RulePack | None = None) -> Pack:
    """Return what is noted of a pack.

    Args:
        pack: The rules.
        at: From when on they are in force, in microseconds since the epoch.
        changed: When that was done, likewise, of wall time.
        who: By whom.
        number: As of `Pack`.
        before: The rules that were in force until then.
    """
    differs = None if before is None else changes(before, pack)
    whole = pack.over(pack.kept).to_text()
    return Pack(pack.version, at, changed, who, tuple(_rules(pack.statements)), number, whole, differs)


def _rules(statements: Iterable[Statement], guards: tuple[str, ...] = ()) -> Iterator[tuple[str, str]]:
    for each in statements:
        condition = text(each.condition)
        if isinstance(each, Requirement):
            yield each.name, f"{' and '.join(guards)}: {condition}" if guards else condition
        else:
            yield from _rules(each.body, (*guards, f"({condition})" if " or " in condition else condition))
