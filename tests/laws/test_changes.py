"""What has come since a mark, done again behind a snapshot: the same state, and the same from then on."""

from __future__ import annotations

import random
from collections import Counter
from typing import TYPE_CHECKING, Any

from hypothesis import settings

from cartesius import Engine
from tests.laws import catalogue_operators, catalogue_restrictions, catalogue_windows  # noqa: F401 - they enter exports
from tests.laws.catalogue import EXPORTS, Program, program_of
from tests.laws.catalogue_rows import TooMany, bounded, rows_of
from tests.laws.catalogue_tiers import _batch, often_by_key

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from tests.oracle.tier_programs import Row

PROGRAMS = 2 * settings().max_examples


class Session:
    """An engine that is called in all ways, and what of it has been saved.

    Args:
        program: What runs.
        tier: How.
        rows: What comes.
        draw: Draws the calls.
    """

    def __init__(self, program: Program, tier: Any, rows: Sequence[Row], draw: random.Random) -> None:
        self.program, self.tier, self.rows, self.draw = program, tier, [*rows], draw
        self.engine = Engine(*program.outputs, tier=tier, **program.options)
        self.outcomes: Counter[str] = Counter()
        for row in self._next(draw.randrange(4)):
            self._attempt("push", self._push, row)
        self.blob, self.mark, self.changes = self.engine.snapshot(), self.engine.mark(), list[bytes]()
        self._budget = 5
        if draw.random() < 0.3 and not program.inputs[0].table:
            self.engine.subscribe(program.outputs[0], self._hear)

    def run(self) -> None:
        """Call the engine until two thirds of the rows have come."""
        calls: list[tuple[str, int, Callable[[], object]]] = [
            ("push", 45, lambda: self._push(*self._next(1))),
            ("push_many", 15, lambda: self.engine.push_many(_batch(self._next(self.draw.choice([1, 3, 8]))))),
            ("advance", 10, lambda: self.engine.advance(self.rows[0].at[self.draw.randrange(2)])),
            ("advance again", 5, lambda: self.engine.advance(self.engine.clock)),
            ("take_late", 5, self.engine.take_late),
            ("pull", 2, self.engine.pull),
            ("end", 1, lambda: self.engine.end(self.draw.choice(self.program.inputs))),
            ("close", 1, self.engine.close),
            ("wrong", 5, lambda: self.engine.push(self.draw.choice(self.program.inputs), {"zz": 1}, at=None)),
            ("mark", 6, self._save),
            ("restore", 5, self._restore),
        ]
        weights = [weight for _, weight, _ in calls]
        while len(self.rows) > 10:
            [(name, _, call)] = self.draw.choices(calls, weights)
            self._attempt(name, call)
        self._budget = 0

    def again(self) -> Engine:
        """What is made of what has been saved, and what came since."""
        changes = [*self.changes, self.engine.changes_since(self.mark)]
        program = self.program
        return Engine.restore(self.blob, *program.outputs, changes=changes, tier=self.tier, **program.options)

    def _next(self, n: int) -> list[Row]:
        found, self.rows = self.rows[:n], self.rows[n:]
        return found

    def _push(self, row: Row) -> None:
        self.engine.push(row.reactive, row.pushed, row.at)

    def _hear(self, _: object) -> None:
        """Push from within, and fail at times: the call that is heard of stands."""
        if self._budget:
            self._budget -= 1
            self.engine.push(self.program.inputs[0], {"n": 1, "k": 1, "j": 1, "v": 1})
            if self.draw.random() < 0.2:
                message = "heard"
                raise KeyError(message)

    def _save(self) -> None:
        self.changes.append(self.engine.changes_since(self.mark))
        self.mark = self.engine.mark()

    def _restore(self) -> None:
        """Go on with the other one, which is the same."""
        other = self.again()
        assert says(other) == says(self.engine)
        self.changes.append(self.engine.changes_since(self.mark))
        self.engine = other
        self.mark = other.mark()

    def _attempt(self, name: str, call: Callable[..., object], *arguments: Any) -> None:
        try:
            call(*arguments)
            self.outcomes[name] += 1
        except (TooMany, AssertionError):
            raise
        except Exception:  # of a body, or as it is refused
            self.outcomes[f"{name} fails"] += 1


def says(engine: Engine) -> list[Any]:
    """What an engine says of itself."""
    return [engine.stats, engine.clock, engine.next_deadline, engine.done, repr(engine.late)]


def told(call: Callable[..., object], *arguments: Any) -> str:
    """What comes of a call."""
    try:
        return repr(call(*arguments))
    except TooMany:
        raise
    except Exception as error:  # of a body, or as it is refused
        return f"{type(error).__name__}: {error}"


def test_changes_lead_to_the_same_state_and_what_follows_is_the_same(pytestconfig):
    outcomes: Counter[str] = Counter()
    start = pytestconfig.getoption("--hypothesis-seed") or 0
    for number in range(PROGRAMS):
        seed = f"changes/{start}/{number}"
        draw = random.Random(seed)
        program = program_of(draw.sample(sorted(EXPORTS), draw.choice([1, 2, 4])), seed)
        if program is None:
            continue
        tier = draw.choice([None, None, "in_place", "reference"])
        try:
            with bounded(), often_by_key():
                session = Session(program, tier, rows_of(program, seed)[:40], draw)
                session.run()
                engine, again = session.engine, session.again()
                assert says(again) == says(engine), f"{seed}, {tier}\n{program.text}"
                for row in session.rows:
                    pushed = [told(one.push, row.reactive, row.pushed, row.at) for one in (engine, again)]
                    assert pushed[0] == pushed[1], f"{seed}, {tier}, {row}\n{program.text}"
                assert told(engine.close) == told(again.close), f"{seed}, {tier}\n{program.text}"
        except TooMany:
            continue
        outcomes += session.outcomes
    print(outcomes)
    assert {"push", "push_many", "advance again", "mark", "restore", "push fails", "wrong fails"} <= outcomes.keys()
