"""RxPY as a reference for the stream operators: the same traces through its virtual clock and through our engine.

Of each input a `Trace` says what it carries when, and when it ends. At one tick the inputs come in the order of their
declaration, each with its values before its end: so RxPY's hot observables do it (each enters all its notifications
into the queue when it is made, and the queue is stable), and `engine_events` mirrors it. RxPY's timers are entered
later, so they fire after the events of their tick; our deadlines are decided when the clock has *passed* them, that is
at the `advance` to the next tick, before its events. As the clock is advanced to every tick, what is decided by a
deadline comes with us one tick later than in RxPY, but before and after the same events (`ONE_TICK`).
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from hypothesis import strategies as st
from reactivex.notification import OnCompleted, OnNext
from reactivex.testing import ReactiveTest, TestScheduler

from cartesius import Engine, Reactive

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

    from reactivex import Observable

    from cartesius import Event

NAMES = "abc"
LAST_TICK = 12
"""No input has an event after it, and few end after it."""
HORIZON = 30
"""Far enough for whatever can expire."""
ONE_TICK = 1
"""How much later than RxPY our engine learns that a deadline has passed."""

SUBSCRIBED = 2
FIRST = 10
"""RxPY's time at our tick 0; what comes at subscription counts as of tick 0."""


@dataclass(frozen=True)
class Trace:
    """One input: (time, value) in order of time, and when it ends, if it does."""

    events: tuple[tuple[int, Any], ...]
    end: int | None = None


@dataclass
class Outcome:
    """What came out, as (time, value), and when the output completed, if it did."""

    values: list[tuple[int, Any]] = field(default_factory=list)
    done: int | None = None


def run_rx(operator: Callable[..., Observable[Any]], traces: Sequence[Trace]) -> Outcome:
    """What RxPY gives. All times are explicit: by default `TestScheduler` subscribes at 200, and earlier is lost."""
    scheduler = TestScheduler()
    inputs = []
    for trace in traces:
        notifications = [ReactiveTest.on_next(FIRST + time, value) for time, value in trace.events]
        if trace.end is not None:
            notifications.append(ReactiveTest.on_completed(FIRST + trace.end))
        inputs.append(scheduler.create_hot_observable(notifications))
    observer = scheduler.start(
        lambda: operator(*inputs), created=1, subscribed=SUBSCRIBED, disposed=FIRST + HORIZON + 1
    )
    outcome = Outcome()
    for message in observer.messages:
        time = max(round(message.time) - FIRST, 0)
        if isinstance(message.value, OnNext):
            outcome.values.append((time, message.value.value))
        else:
            assert isinstance(message.value, OnCompleted), f"RxPY failed: {message}"
            outcome.done = time
    return outcome


def engine_steps(
    operator: Callable[..., Reactive], traces: Sequence[Trace], *, restoring: bool = False
) -> Iterator[tuple[int, list[Event], Engine]]:
    """Run our operator; after each step its time, what it emitted, and the engine.

    Args:
        operator: From the inputs to the output.
        traces: One for each input.
        restoring: Whether to go on, after each step, with an engine restored from a snapshot.
    """
    inputs = [Reactive(name) for name, _ in zip(NAMES, traces, strict=False)]
    output = operator(*inputs)
    engine = Engine(output)

    def after(events: list[Event]) -> list[Event]:
        nonlocal engine
        engine._check_invariants()
        if restoring:
            engine = Engine.restore(engine.snapshot(), output)
        return events

    for time in range(HORIZON + 1):
        yield time, after(engine.advance(time)), engine
        for reactive, trace in zip(inputs, traces, strict=True):
            for at, value in trace.events:
                if at == time:
                    yield time, after(engine.push(reactive, value, at=time)), engine
            if trace.end == time:
                yield time, after(engine.end(reactive)), engine


def run_engine(operator: Callable[..., Reactive], traces: Sequence[Trace]) -> Outcome:
    """What our engine gives: all values, and the first time at which it is done."""
    outcome = Outcome()
    for time, events, engine in engine_steps(operator, traces):
        for event in events:
            assert event.weight == 1, "nothing is retracted"
            assert outcome.done is None, "nothing comes after completion"
            outcome.values.append((time, event.value))
        if engine.done and outcome.done is None:
            outcome.done = time
    return outcome


# ------------------------------------------------------------------------------------------------------ random traces


@st.composite
def traces(draw: st.DrawFn, count: int, *, values: st.SearchStrategy[Any] | None = None, size: int = 6) -> list[Trace]:
    """Traces with ticks shared within and between inputs; without ``values`` each value names its input and number."""
    out = []
    for name in NAMES[:count]:
        times = sorted(draw(st.lists(st.integers(0, LAST_TICK), max_size=size)))
        carried = [draw(values) if values is not None else f"{name}{number}" for number, _ in enumerate(times)]
        last = times[-1] if times else 0
        end = draw(st.one_of(st.integers(last, LAST_TICK + 2), st.integers(last, last + 2), st.none()))
        out.append(Trace(tuple(zip(times, carried, strict=True)), end))
    return out
