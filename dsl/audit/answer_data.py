"""Answers as plain data, for JSON: times as ISO 8601 has them, values with their units, and infinite ones as texts."""

from __future__ import annotations

from math import isfinite
from typing import TYPE_CHECKING, Any

from dsl.english.phrases import phrase
from dsl.terms.instants import moment_of
from dsl.terms.texts import text

if TYPE_CHECKING:
    from collections.abc import Collection

    from dsl.english.naming import Names
    from dsl.judgements.accounts import Accounted, Bound
    from dsl.meaning.verdicts import Shown


def iso(time: int) -> str:
    """Return a time in microseconds since the epoch as people and machines read it, in UTC.

    >>> iso(1_593_518_400_000_000)
    '2020-06-30T12:00:00+00:00'
    """
    return moment_of(time).isoformat()


def requirement_data(each: Accounted, names: Names) -> dict[str, Any]:
    """Return how a requirement came out, for JSON.

    Args:
        each: The requirement.
        names: How the pack's fields are called.
    """
    reason = each.reason
    return {
        "requirement": reason.name,
        "outcome": each.outcome,
        "condition": reason.text,
        "says": said(each, names),
        "location": reason.location,
        "because": reason.because,
        "severity": reason.severity,
        "reference": reason.reference,
        "around": [{"condition": text(condition), "holds": holds} for condition, holds in each.conditions],
        "values": [shown_data(value, each.instants) for value in reason.values],
        "compared": None if each.bound is None else _bound(each.bound, each.instants),
        "margin": None if reason.margin is None else {"value": _plain(reason.margin[0]), "unit": reason.margin[1]},
        "missing": list(reason.missing),
        "stale": list(reason.stale),
        "others": list(reason.others),
        "reads": list(each.reads),
    }


def said(each: Accounted, names: Names) -> str:
    """Return what a requirement demands, in English."""
    return phrase(each.statement.condition, "must", names).text("must")


def _bound(bound: Bound, instants: frozenset[str]) -> dict[str, Any]:
    limits = [shown_data(each, instants) for each in bound.limits]
    return {"value": shown_data(bound.value, instants), "must_be": bound.how, "limit": limits}


def shown_data(value: Shown, instants: Collection[str] = ()) -> dict[str, Any]:
    """Return a value with its unit, for JSON; one that is called as one of ``instants`` as a time."""
    what, amount, unit = value
    if what in instants and isinstance(amount, int):
        amount = iso(amount)
    return {"what": what, "value": list(amount) if isinstance(amount, tuple) else _plain(amount), "unit": unit}


def _plain(amount: Any) -> Any:
    is_json = isfinite(amount) if isinstance(amount, float) else amount is None or isinstance(amount, str | int)
    return amount if is_json else str(amount)
