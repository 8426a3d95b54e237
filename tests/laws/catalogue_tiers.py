"""The tiers at work on one program: the reference, never interrupted, and others, cut and restored in all ways."""

from __future__ import annotations

import random
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any, NamedTuple
from unittest import mock

from cartesius import Delete, Engine, Update
from cartesius.columns.batches import keyed_state, single_rows, slicing
from cartesius.columns.results import events_of
from cartesius.plan.nodes import Now, Until
from tests.conservation import agree

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping, Sequence

    from cartesius.programs.measures import Fates
    from tests.laws.catalogue import Program
    from tests.oracle.tier_programs import Row


class Rows(NamedTuple):
    """Rows that come one after the other; in one batch where a tier has batches."""

    rows: tuple[Any, ...]


class Advance(NamedTuple):
    """A move of the clock."""

    time: int | None
    """None: the end of time."""


class Restore(NamedTuple):
    """The engines that can be replaced are: by a copy of themselves, or of each other."""

    crosswise: bool
    by_changes: bool
    """By what has come since the last time, behind what they were made of then."""


class Saved(NamedTuple):
    """What an engine can be made of anew."""

    blob: bytes
    changes: tuple[bytes, ...] = ()


Step = Rows | Advance | Restore


class Difference(AssertionError):
    """Two ways of running a program differ."""


def steps_of(rows: Sequence[Row], seed: str) -> list[Step]:
    """Rows cut into batches, with moves of the clock and snapshots in between."""
    draw = random.Random(f"steps {seed}")
    found: list[Step] = []
    at = 0
    size, advances, restores = draw.choice([2, 5, 30]), draw.choice([0, 0.3]), draw.choice([0, 1, 2])
    while at < len(rows):
        many = draw.randint(1, size)
        found.append(Rows(tuple(rows[at : at + many])))
        at += many
        if restores and draw.random() < 0.4:
            restores -= 1
            found.append(Restore(draw.random() < 0.5, draw.random() < 0.5))
        if at < len(rows) and draw.random() < advances:
            advance = Advance(rows[at].at[1] - draw.choice([0, 0, 1]) * (draw.random() < 0.5))
            found += [advance] * draw.choice([1, 1, 2])  # the second one decides what was overdue
    return found


@contextmanager
def often_by_key() -> Iterator[None]:
    """Let batches touch the rows of their keys alone, and pushes be batches of one row, however little is held."""
    with mock.patch.multiple(keyed_state, LEAST=0, SMALL=1), mock.patch.multiple(single_rows, ROW=0, LOOK=1 << 60):
        yield


class Way:
    """One engine in one tier."""

    def __init__(self, program: Program, tier: Any, *, is_marked: bool = False) -> None:
        self.program, self.tier = program, tier
        self.engine = Engine(*program.outputs, tier=tier, **program.options)
        self._saved = Saved(self.engine.snapshot() if is_marked else b"")
        self._mark = self.engine.mark() if is_marked else None
        self.standing: set[Any] = set()  # the identities of results that nobody has taken back
        self._is_replaced = False  # what a batch of columns has given to correlations behind it has other identities
        joins = self.engine._program.joins
        rows_leave = any(slot.is_table for join in joins for slot in join.slots)
        expires = any(isinstance(one.node, Until | Now) for join in joins for one in join.installed)
        self._rows_come_again = rows_leave and expires  # a row that has expired has left without a change (2.8)

    def take(self, step: Rows | Advance) -> tuple[list[str], str]:
        """What comes of a step, and the error that ends it."""
        return self.advance(step.time) if isinstance(step, Advance) else self.push(step.rows)

    def push(self, rows: Sequence[Row]) -> tuple[list[str], str]:
        """What comes of rows, and the error that ends it."""
        if self.tier is None:
            with often_by_key():
                return self._attempt(lambda out: out.extend(events_of(self.engine.push_many(_batch(rows)))))

        def each(out: list[Any]) -> None:
            for row in rows:
                out += self.engine.push(row.reactive, row.pushed, row.at)

        return self._attempt(each)

    def advance(self, time: int | None) -> tuple[list[str], str]:
        """What comes as the clock moves, to the end of time if that is None, and the error that keeps it."""
        if time is None:
            return self._attempt(lambda out: out.extend(self.engine.close()))
        deadline = self.engine.next_deadline
        with often_by_key():
            found = self._attempt(lambda out: out.extend(self.engine.advance(time)))
        if any(found) and (deadline is None or deadline > time):
            message = f"advance({time}) has decided something, but next_deadline was {deadline}: {found}"
            raise Difference(message)
        return found

    def advance_by_deadlines(self, time: int) -> tuple[list[str], str]:
        """The same, deadline by deadline: who is called at each has no less."""

        def step(out: list[Any]) -> None:
            while (deadline := self.engine.next_deadline) is not None and self.engine.clock < deadline <= time:
                out += self.engine.advance(deadline)
            out += self.engine.advance(time)

        return self._attempt(step)

    def _attempt(self, call: Callable[[list[Any]], None]) -> tuple[list[str], str]:
        out: list[Any] = []
        wrong = ""
        try:
            call(out)
        except Exception as error:  # of any kind: the others must raise the same
            emitted = vars(error).get("emitted")
            out += [] if emitted is None or out else events_of(emitted) if self.tier is None else []
            wrong = f"{type(error).__name__}: {error}"
        if self.tier is not None:
            self._tell_apart(out)  # what rows before a wrong one have given stands as well
        return told(out), wrong

    def _tell_apart(self, events: Sequence[Any]) -> None:
        """Two equal events are two events (SEMANTICS 1.9); changes of one row have that of the row."""
        for event in events:
            if isinstance(event.value, Update | Delete):
                continue
            if event.weight < 0:
                if event.identity not in self.standing and not self._is_replaced:
                    message = f"what is taken back was not given, {event.identity}: {event}"
                    raise Difference(message)
                self.standing.discard(event.identity)
            elif event.identity in self.standing and not self._rows_come_again:
                message = f"two results have one identity, {event.identity}: {event}"
                raise Difference(message)
            else:
                self.standing.add(event.identity)

    def save(self, *, by_changes: bool) -> Saved:
        """What the engine can be made of anew."""
        if not by_changes:
            return Saved(self.engine.snapshot())
        assert self._mark is not None
        return Saved(self._saved.blob, (*self._saved.changes, self.engine.changes_since(self._mark)))

    def restore(self, saved: Saved, *, is_of_another: bool) -> None:
        """Go on from what was saved."""
        program, tier = self.program, self.tier
        self._is_replaced = self._is_replaced or is_of_another
        with often_by_key():
            self.engine = Engine.restore(
                saved.blob, *program.outputs, changes=saved.changes, tier=tier, **program.options
            )
        self._saved, self._mark = saved, self.engine.mark() if self._mark is not None else None

    def state(self) -> tuple[Any, ...]:
        """What an engine says of itself."""
        engine = self.engine
        return engine.stats, engine.clock, engine.next_deadline, engine.done, [repr(late) for late in engine.late]


def _batch(rows: Sequence[Row]) -> dict[Any, dict[str, list[Any]]]:
    found: dict[Any, dict[str, list[Any]]] = {}
    for order, row in enumerate(rows):
        columns = row.value | {"start": row.at[0], "end": row.at[1], "order": order}
        if row.reactive.table:
            columns["deleted"] = row.is_deletion
        for name, value in columns.items():
            found.setdefault(row.reactive, {}).setdefault(name, []).append(value)
    return found


def told(events: Sequence[Any]) -> list[str]:
    """Events with their values, type-exactly, and their times."""
    return [repr(event) for event in events]


class Told(NamedTuple):
    """What the reference says of one step, in the words in which the others are compared with it."""

    results: list[str]
    error: str
    state: tuple[Any, ...] | None
    """What it says of itself; None where nothing asks."""


class Reference(NamedTuple):
    """The reference at work: it takes rows one by one and is never replaced by a copy of itself."""

    told: list[Told]
    state: tuple[Any, ...]
    fates: Mapping[Any, Fates]

    @property
    def gave_results(self) -> bool:
        """Whether anything has come out."""
        return any(one.results for one in self.told)

    @property
    def has_raised(self) -> bool:
        """Whether a step has failed."""
        return any(one.error for one in self.told)


def reference_of(program: Program, steps: Sequence[Step]) -> Reference:
    """Run a program in the reference, to the end of time."""
    way = Way(program, "reference")
    told_of = []
    for step in [*steps, Advance(None)]:
        results, error = ([], "") if isinstance(step, Restore) else way.take(step)
        told_of.append(Told(results, error, None if isinstance(step, Rows) else way.state()))
    way.engine._check_invariants()
    return Reference(told_of, way.state(), way.engine.stats.fates)


def compare(program: Program, steps: Sequence[Step], reference: Reference, seed: str) -> None:
    """Run a program in the other tiers; raise `Difference` where one differs from the reference."""
    draw = random.Random(f"slices {seed}")
    with mock.patch.object(slicing, "SLICE", draw.choice([1, 2, 5, *[slicing.SLICE] * 5])):
        _compare(program, steps, reference)


def _compare(program: Program, steps: Sequence[Step], reference: Reference) -> None:
    is_marked = any(isinstance(step, Restore) and step.by_changes for step in steps)
    others = [Way(program, tier, is_marked=is_marked) for tier in ("in_place", None)]
    for step, expected in zip([*steps, Advance(None)], reference.told, strict=True):
        if isinstance(step, Restore):
            saved = [way.save(by_changes=step.by_changes) for way in others]
            for way, one in zip(others, reversed(saved) if step.crosswise else saved, strict=True):
                way.restore(one, is_of_another=step.crosswise)
            _agree(others, "state", expected.state, [way.state() for way in others], step)
            continue
        found = [way.take(step) for way in others]
        _agree(others, "results", expected.results, [one for one, _ in found], step)
        _agree(others, "error", expected.error, [one for _, one in found], step)
        if expected.state is not None:
            _agree(others, "state", expected.state, [way.state() for way in others], step)
    _agree(others, "state", reference.state, [way.state() for way in others], "the end")
    for way in others:
        fates = way.engine.stats.fates
        if not agree(reference.fates, fates):  # in place, too, unless columns took the snapshot that it goes on from
            message = f"fates at the end:\n  reference {reference.fates}\n  {way.tier or 'compiled':9} {fates}"
            raise Difference(message)
        way.engine._check_invariants()


def _agree(others: Sequence[Way], what: str, expected: Any, found: Sequence[Any], step: Any) -> None:
    for way, one in zip(others, found, strict=True):
        if one != expected:
            tier = way.tier or "compiled"
            message = f"{what} after {step}:\n  reference {expected}\n  {tier:9} {one}"
            raise Difference(message)
