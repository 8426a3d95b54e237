"""Verdicts: what a pack says about a subject, and why.

A verdict is plain data, part of results, tables and snapshots. Two verdicts are equal when subject, status and the
sets of failed requirements, of missing and of stale sources are, and, of requirements about pairs, the other subjects;
the values that are shown with a reason make no difference, so that a table of verdicts changes only when its meaning
does.

Source: DESIGN.md, section 6.
"""

from __future__ import annotations

from decimal import Decimal  # noqa: TC003 - the types of a verdict's fields are asked for where there are frames
from typing import TYPE_CHECKING, Literal, TypeAlias, get_args

import attrs

from cartesius import storable
from cartesius.drawing.html_tables import panel, table
from cartesius.drawing.markup import element
from dsl.terms.statements import Severity

if TYPE_CHECKING:
    from collections.abc import Sequence

Status: TypeAlias = Literal["allowed", "restricted", "unknown"]
Shown: TypeAlias = "tuple[str, str | int | float | Decimal | bool | tuple[float, float] | None, str]"
"""What is shown of a condition: a label, the bare value (None: missing), and the symbol of its unit ("" for none)."""


@storable
@attrs.frozen
class Reason:
    """A requirement that failed, or that could not be decided.

    >>> Reason("wind", "wind.velocity <= 45 kn", None, None, ("wind",)).missing
    ('wind',)
    """

    name: str
    """The requirement's name; by default its text."""
    text: str
    """Its condition, as written."""
    location: str | int | None
    """The innermost `location` around it."""
    because: str | None
    """The author's reason."""
    missing: tuple[str, ...] = ()
    """Empty: it failed. Otherwise what kept it undecided: ``tide`` for a row, ``vessel.draught`` for a field, or the
    text of what cannot be computed, such as a division by zero, or that raises, and what."""
    values: tuple[Shown, ...] = attrs.field(default=(), eq=False)
    """The observations of the condition, in their units, and what it compares, in the units written in the rule."""
    severity: Severity = attrs.field(default="major", eq=False)
    """How grave it is, as its author says."""
    reference: str | None = attrs.field(default=None, eq=False)
    """The regulation that it comes from."""
    margin: tuple[float, str] | None = attrs.field(default=None, eq=False)
    """How far the values are from the limit, and the symbol of the unit of that, which is the rule's: negative is
    beyond the limit. None where there is no such distance, or a value is missing (see `margins`)."""
    stale: tuple[str, ...] = ()
    """Those of ``missing`` that are sources of which the subject's own row, or the one it links to, is too old."""
    others: tuple[str | int, ...] = ()
    """Of a requirement about pairs: the keys of the other subjects with which it failed or, if it is undecided, with
    which it is; in ascending order."""


def folded(
    findings: Sequence[tuple[str | int | None, Reason]],
    missing: tuple[str, ...],
    stale: tuple[str, ...],
    place: str | int | None,
) -> Reason:
    """Return the reason for which a requirement about pairs does not hold.

    >>> close = Reason("distance", "…", None, None)
    >>> folded([(1, close), (2, attrs.evolve(close, missing=("other.position",))), (3, close)], (), (), "A").others
    (1, 3)

    Args:
        findings: With which others it does not hold, in ascending order of their keys, and why; at least one. One of
            which nothing is known has the key None.
        missing: What is missing of the conditions around the pairs.
        stale: What of it is stale.
        place: The innermost `location` around the pairs.
    """
    kept = list(findings) if missing else [each for each in findings if not each[1].missing] or list(findings)
    first = kept[0][1]
    return attrs.evolve(
        first,
        location=place if first.location is None else first.location,
        missing=tuple(dict.fromkeys((*missing, *(name for _, reason in kept for name in reason.missing)))),
        stale=tuple(dict.fromkeys((*stale, *(name for _, reason in kept for name in reason.stale)))),
        others=tuple(key for key, _ in kept if key is not None),
    )


def _meaning(because: tuple[Reason, ...]) -> tuple[frozenset[object], ...]:
    """What makes two verdicts different: which requirements failed, with which others, what is missing, or stale."""
    failed: set[object] = set()
    undecided: set[object] = set()
    missing: set[str] = set()
    stale: set[str] = set()
    for each in because:
        if not each.missing:
            failed.add((each.name, each.text, each.location, *each.others))  # flat: compared with each change
            continue
        if each.others:
            undecided.add((each.name, each.text, each.location, *each.others))
        missing.update(each.missing)
        stale.update(each.stale)
    return frozenset(failed), frozenset(undecided), frozenset(missing), frozenset(stale)


def _said(label: str, value: object, unit: str) -> str:
    if value is None:
        return f"{label} is missing"
    shown = f"{value:.6g} {unit}" if isinstance(value, float) else f"{value} {unit}"
    return label if label == shown.rstrip() else f"{label} is {shown}".rstrip()


@storable
@attrs.frozen
class Verdict:
    """What a pack says about one subject: allowed, restricted, or unknown.

    >>> Verdict(244660000, "allowed")
    Verdict(subject=244660000, status='allowed', because=())
    """

    subject: str | int
    """The subject's key."""
    status: Status
    """Restricted: a requirement fails, whatever is missing. Unknown: none does, one is undecided. Else allowed."""
    because: tuple[Reason, ...] = attrs.field(default=(), eq=_meaning)
    """The failed requirements, then the undecided ones, each in the order of the rules."""
    pack: str = attrs.field(default="", eq=False, repr=False)
    """The version of the rules that gave it (`RulePack.version`); a verdict that two versions give alike is one."""

    def __str__(self) -> str:
        """Show the status, and the requirements that it is due to."""
        said = [", ".join(reason.name for reason in self.failed)] if self.failed else []
        if self.undecided:
            said.append("not decided: " + ", ".join(reason.name for reason in self.undecided))
        return self.status + (f" ({'; '.join(said)})" if said else "")

    def _repr_html_(self) -> str:
        mark = {"allowed": "✓", "restricted": "✗", "unknown": "?"}[self.status]
        rows = [
            (
                each.name if each.location is None else f"{each.name}, at {each.location}",
                f"not known: {', '.join(each.missing)}" if each.missing else "fails",
                each.text,
                ", ".join(_said(*value) for value in each.values),
                "" if each.margin is None else f"{each.margin[0]:.4g} {each.margin[1]}".rstrip(),
                each.severity,
                each.because,
            )
            for each in self.because
        ]
        caption = f"{mark} {self.subject}: {self.status}"
        headings = ("requirement", "", "condition", "values", "margin", "severity", "because")
        return panel(table(headings, rows, caption=caption) if rows else element("p", element("b", caption)))

    @property
    def failed(self) -> tuple[Reason, ...]:
        """The requirements that failed."""
        return tuple(reason for reason in self.because if not reason.missing)

    @property
    def severity(self) -> Severity | None:
        """The gravest of the failed requirements; None where none failed."""
        return max((reason.severity for reason in self.failed), key=get_args(Severity).index, default=None)

    @property
    def undecided(self) -> tuple[Reason, ...]:
        """The requirements that could not be decided."""
        return tuple(reason for reason in self.because if reason.missing)
