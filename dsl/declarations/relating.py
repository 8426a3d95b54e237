"""Rules over two subjects: `another`, a second name for the subject's rows, and `against`, a block about pairs.

What is written inside `against(other)` must hold of the subject and *every* other one: those whose key differs, and of
which `where` holds. It nests with `when`, `otherwise` and `location` as these do with each other, but not in itself: a
rule is about one subject, and at most one other.

Source: issue 6 (no two tankers in one basin; passing distance).
"""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING

import attrs

from dsl.declarations.sources import Source, declaration, restored
from dsl.refusals.errors import InvalidRule, refusal
from dsl.terms.statements import EVERY_PAIR, Against
from dsl.terms.terms import sources
from dsl.terms.texts import text
from dsl.writing.blocks import Clause, admitted, current

if TYPE_CHECKING:
    from dsl.writing.fluent import Expression


def another(source: Source, name: str) -> Source:
    """Return a second name for the rows of ``source``, a pack's subject: those of the other subjects.

    >>> from dsl import RulePack, Source, against, require
    >>> vessel = Source("vessel", key="mmsi", mmsi=int, basin=str, vessel_type=str)
    >>> other = another(vessel, "other")
    >>> port = RulePack("port", subject=vessel)
    >>> with port, against(other, where=other.basin == vessel.basin):
    ...     require((vessel.vessel_type != "tanker") | (other.vessel_type != "tanker"), name="no two tankers")
    >>> ships = [{"mmsi": mmsi, "basin": "east", "vessel_type": "tanker"} for mmsi in (1, 2, 3)]
    >>> port.check({"vessel": ships[0], "other": ships[1:]}).because[0].others
    (2, 3)

    It is observed inside `against`, and counted by `number_of`, `sum_of` and the like, which leave the subject
    itself out.

    Args:
        source: The source that is a pack's subject.
        name: What rules, verdicts and `check` call the others: a Python identifier.

    Raises:
        InvalidRule: ``source`` has no key or is itself another, or ``name`` is no identifier or the source's own.
    """
    if not isinstance(source, Source) or declaration(source).key is None or declaration(source).another_of is not None:
        fix = [("fix", 'name the subject of the pack: other = another(vessel, "other")')]
        raise InvalidRule(refusal(f"another: expected a source with a key but got {source!r}", fix))
    known = declaration(source)
    if not isinstance(name, str) or not name.isidentifier() or name == known.name:
        fix = [("fix", f'other = another({known.name}, "other")')]
        raise InvalidRule(refusal(f"another: expected a name of its own, an identifier, but got name={name!r}", fix))
    return restored(attrs.evolve(known, name=name, another_of=known.name))


def against(other: Source, where: Expression | None = None) -> Clause:
    """Apply the statements of the `with` block to the subject and every other one of which ``where`` holds.

    A requirement fails if it fails for one of the others, and the reason names all with which it does
    (`Reason.others`); it is undecided if it fails for none and is undecided for one, also because it is unknown whether
    ``where`` holds. Without others it holds.

    >>> from dsl import RulePack, Source, another, distance, position, require
    >>> from dsl.units import metres
    >>> vessel = Source("vessel", key="mmsi", mmsi=int, place=position)
    >>> other = another(vessel, "other")
    >>> port = RulePack("port", subject=vessel)
    >>> with port, against(other):
    ...     require(distance(vessel.place, other.place) >= 500 * metres, name="passing distance")
    >>> near, far = {"mmsi": 2, "place": (51.9, 4.101)}, {"mmsi": 3, "place": (51.9, 4.2)}
    >>> port.check({"vessel": {"mmsi": 1, "place": (51.9, 4.1)}, "other": [near, far]}).because[0].others
    (2,)

    Args:
        other: What `another` returned for the pack's subject.
        where: A condition over both, and over what the subject is linked to; equalities of a term over the other with
            one over the subject become indexes. Without any, each change is judged against all others.

    Raises:
        InvalidRule: Outside a pack, inside another `against`, ``other`` is no other of the pack's subject, a condition
            that does not observe it, or observes a source that has no link to the subject.
        DimensionMismatch: ``where`` is no condition.
    """
    block = current("against")
    if not isinstance(other, Source) or declaration(other).another_of is None:
        fix = [("fix", 'other = another(vessel, "other"), and then against(other)')]
        raise InvalidRule(refusal(f"against: expected what another(…) returned but got {other!r}", fix))
    known = declaration(other)
    call = f"against({known.name})"
    if block.other is not None:
        summary = (
            f"{call}: expected to stand outside of every other against(…) but it is inside against({block.other.name})"
        )
        notes = [
            ("reason", "a rule compares the subject with one other at a time; of three, any two are such a pair"),
            ("fix", "write two blocks, one after the other"),
        ]
        raise InvalidRule(refusal(summary, notes))
    if where is None:
        block.admit(EVERY_PAIR, known)
        return Clause(block, call, partial(Against, known, EVERY_PAIR), other=known)
    term = admitted("against", where, block, known)
    call = f"against({known.name}, where={text(term)})"
    if known not in sources(term):
        fix = [("fix", f"with when({text(term)}): with against({known.name}): …")]
        raise InvalidRule(refusal(f"{call}: expected a condition that observes {known.name!r}", fix))
    return Clause(block, call, partial(Against, known, term), other=known)
