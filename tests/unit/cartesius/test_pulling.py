"""Inputs of which something is there already, and results as an async iterator (SOURCES A7)."""

from __future__ import annotations

import asyncio
import gc
from contextlib import suppress
from typing import TYPE_CHECKING, Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from cartesius import Engine, Event, Reactive, Update, correlate, run
from cartesius.errors import InvalidArgument
from restrictions import affinely, as_table, cartesian, combine_latest, retracting, zip_
from restrictions.streams import map_, never, skip_until

if TYPE_CHECKING:
    from collections.abc import Callable


class Broken(Exception):
    """What a user's code raises."""


def values(events):
    return [event.value for event in events]


def shown(events):
    return [(event.value, event.start, event.end, event.weight, event.reactive) for event in events]


def one_way(source, **options):
    return correlate(x=source, yields=lambda x: x, name="out", **options)


# ------------------------------------------------------------------------------------------------ what is there already


@pytest.mark.parametrize(
    "items", [[1, 2, 3], (1, 2, 3), range(1, 4), iter([1, 2, 3]), {1: "p", 2: "q", 3: "r"}, (n for n in (1, 2, 3))]
)
def test_any_iterable_will_do(items):
    assert values(Engine(one_way(Reactive.of(items))).pull()) == [1, 2, 3]


@pytest.mark.parametrize("wrong", [3, None, len, object()])
def test_what_is_no_iterable_is_refused(wrong):
    with pytest.raises(InvalidArgument, match="expected an iterable"):
        Reactive.of(wrong)


def test_what_is_there_is_eaten_once():
    engine = Engine(one_way(Reactive.of([1, 2])))
    assert values(engine.pull()) == [1, 2]
    assert engine.pull() == []
    assert engine.stats.events == 2


def test_an_engine_without_a_prefix_has_nothing_to_pull():
    assert Engine(one_way(Reactive("a"))).pull() == []


def test_an_empty_prefix_is_a_plain_input():
    source = Reactive.of([])
    engine = Engine(one_way(source))
    assert engine.pull() == []
    assert values(engine.push(source, 1)) == [1]


def test_run_with_an_empty_trace_gives_what_is_there():
    assert values(run(zip_(Reactive.of("ab"), Reactive.of([1, 2, 3])), [])) == [("a", 1), ("b", 2)]
    assert values(run(zip_(Reactive.of("ab"), Reactive.of([1, 2, 3])))) == [("a", 1), ("b", 2)]


@pytest.mark.parametrize("wrong", [None, 7, Reactive("s")], ids=repr)
def test_run_refuses_what_is_no_trace(wrong):
    with pytest.raises(InvalidArgument, match=r"^run: expected a trace"):
        run(one_way(Reactive("s")), wrong)


def test_a_prefix_does_not_end_its_input():
    left, right = Reactive.of([1, 2]), Reactive.of([])
    engine = Engine(zip_(left, right))
    engine.pull()
    assert not engine.done
    assert engine.stats.waiting == 2
    assert values(engine.push(right, "a")) == [(1, "a")]


def test_inputs_are_eaten_one_after_another_in_slot_order():
    engine = Engine(combine_latest(Reactive.of([1, 2, 3]), Reactive.of("ab")))
    assert values(engine.pull()) == [(3, "a"), (3, "b")]


@pytest.mark.parametrize("first", ["push", "advance", "end", "close", "pull"])
def test_whatever_is_used_first_gives_what_is_there(first):
    left, right = Reactive.of([1, 2]), Reactive("right")
    engine = Engine(one_way(left), correlate(y=right, yields=lambda y: y))
    use: dict[str, Callable[[], list[Event]]] = {
        "push": lambda: engine.push(right, "r"),
        "advance": lambda: engine.advance(1),
        "end": lambda: engine.end(right),
        "close": engine.close,
        "pull": engine.pull,
    }
    assert values(use[first]()) == [1, 2, *(["r"] if first == "push" else [])]


def test_the_time_of_an_event_is_kept_and_a_payload_comes_one_after_the_latest():
    source = Reactive.of([Event("a", 5, 9), "b", Event("c", 3, 3), "d"])
    engine = Engine(one_way(source))
    assert [(e.value, e.start, e.end) for e in engine.pull()] == [
        ("a", 5, 9),
        ("b", 10, 10),
        ("c", 3, 3),
        ("d", 11, 11),
    ]


def test_an_event_of_a_prefix_may_be_late():
    engine = Engine(one_way(Reactive.of([Event("a", 9, 9), Event("b", 3, 3)])), lateness=2)
    assert values(engine.pull()) == ["a"]
    assert [(event.value, name) for event, name, _ in engine.late] == [("b", "of")]


def test_a_table_may_have_rows_already():
    table = Reactive.of([Update("k", 1), Event(Update("k", 2), 7, 7)], table=True)
    output = correlate(x=table, yields=lambda x: x, restrict=retracting() | as_table("x"))
    engine = Engine(output)
    engine.pull()
    assert engine.query(output) == engine.query(table) == {"k": 2}
    declared = Reactive.of([{"id": 1, "v": 2}], table=True, key="id")
    assert values(run(correlate(x=declared, yields=lambda x: x.v))) == [2]


def test_several_without_a_name_are_numbered():
    sources = [Reactive.of([number]) for number in range(3)]
    engine = Engine(cartesian(*sources))
    assert list(engine.inputs) == ["of", "of#2", "of#3"]
    assert values(engine.pull()) == [(0, 1, 2)]
    assert values(engine.push(sources[1], 9)) == [(0, 9, 2)]


def test_a_list_serves_several_engines():
    output = one_way(Reactive.of([1, 2]))
    assert values(run(output)) == values(run(output)) == [1, 2]


def test_a_source_with_a_prefix_that_is_bound_twice_is_eaten_once():
    source = Reactive.of([1, 2])
    assert values(run(correlate(x=source, y=source, yields=lambda x, y: (x, y)))) == [(1, 1), (2, 2), (2, 1), (1, 2)]


def test_a_default_time_comes_after_what_is_there():
    """A prefix and later pushes give what pushing all gives."""
    left, right = Reactive.of([1, 2, 3]), Reactive("right")
    engine = Engine(cartesian(left, right))
    assert [event.end for event in engine.push(right, "a")] == [4, 4, 4]


def test_a_default_time_is_not_late_because_of_what_is_there():
    left, right = Reactive.of([Event(1, 100, 100)]), Reactive("right")
    engine = Engine(cartesian(left, right), lateness=5)
    assert values(engine.push(right, "a")) == [(1, "a")]
    assert engine.late == []


TIMES = st.one_of(st.none(), st.integers(0, 9))
OPERATORS = {
    "combine_latest": combine_latest,
    "zip_": zip_,
    "cartesian": cartesian,
    "affine": lambda left, right: cartesian(left, right, restrict=affinely("left", "right")),
}


@pytest.mark.parametrize("name", OPERATORS)
@pytest.mark.parametrize("has_default_times", [False, True])
@given(data=st.data())
@settings(max_examples=settings().max_examples * 30 // 100)
def test_a_prefix_and_later_pushes_are_pushing_all(name, has_default_times, data):
    times = TIMES if has_default_times else st.integers(0, 9)
    item = st.one_of(st.integers(0, 3), st.builds(_timed, st.integers(0, 9)))
    prefixes = [data.draw(st.lists(item, max_size=3)) for _ in range(2)]
    later = data.draw(st.lists(st.tuples(st.sampled_from(("left", "right")), st.integers(0, 3), times), max_size=5))
    is_restored = data.draw(st.booleans())
    there = {side: Reactive.of(items, name=side) for side, items in zip(("left", "right"), prefixes, strict=True)}
    plain = {side: Reactive(side) for side in there}
    pulling, pushing = Engine(OPERATORS[name](*there.values())), Engine(OPERATORS[name](*plain.values()))
    expected, got = [], []
    for side, items in zip(plain, prefixes, strict=True):
        for item in items:
            value, at = (item.value, (item.start, item.end)) if isinstance(item, Event) else (item, None)
            expected += pushing.push(plain[side], value, at=at)
    for side, value, at in later:
        if is_restored:
            pulling = Engine.restore(pulling.snapshot(), *pulling.outputs)
        expected += pushing.push(plain[side], value, at=at)
        got += pulling.push(there[side], value, at=at)
    got += pulling.pull()
    assert shown(got) == shown(expected)
    assert pulling.stats == pushing.stats


def _timed(at):
    return Event(-at, at, at + 1)


# ------------------------------------------------------------------------------------------------ refused, and restored


def test_an_uneaten_prefix_is_eaten_after_a_restore():
    output = zip_(Reactive.of([1, 2]), Reactive.of("ab"))
    restored = Engine.restore(Engine(output).snapshot(), output)
    assert values(restored.pull()) == [(1, "a"), (2, "b")]


def test_an_eaten_prefix_is_not_eaten_again_after_a_restore():
    left, right = Reactive.of([1, 2, 3]), Reactive.of("ab")
    output = zip_(left, right)
    engine = Engine(output)
    engine.pull()
    restored = Engine.restore(engine.snapshot(), output)
    assert restored.pull() == []
    assert values(restored.push(right, "c")) == [(3, "c")]


def careful(source, broken):
    """A correlation whose body refuses 0 as long as something is broken."""

    def where(x):
        if broken and x == 0:
            raise Broken
        return True

    return correlate(x=source, where=where, yields=lambda x: x, name="out")


def test_an_item_that_a_body_refuses_is_refused_until_the_body_is_repaired():
    broken = [True]
    engine = Engine(careful(Reactive.of([0, 1]), broken))
    for _ in range(3):
        with pytest.raises(Broken) as caught:
            engine.pull()
        assert any("'of'" in note for note in caught.value.__notes__)
        assert engine.stats.events == 0
    broken.clear()
    assert values(engine.pull()) == [0, 1]


@pytest.mark.parametrize("is_restored", [False, True])
@pytest.mark.parametrize("use", ["pull", "push", "advance"])
def test_nothing_is_lost_of_what_comes_before_an_item_that_a_body_refuses(is_restored, use):
    """1.12: the results of what was eaten come out, if not at once, then with the next call that succeeds."""
    broken = [True]
    source = Reactive.of([1, 2, 0, 3])
    output = careful(source, broken)
    engine = Engine(output)
    got = []
    for _ in range(2):
        with pytest.raises(Broken):
            got += {"pull": engine.pull, "push": lambda: engine.push(source, 4), "advance": lambda: engine.advance(0)}[
                use
            ]()
    if is_restored:
        engine = Engine.restore(engine.snapshot(), output)
    broken.clear()
    got += engine.pull()
    assert values(got) == [1, 2, 0, 3]


def test_nothing_that_is_there_is_lost_if_the_first_push_fails():
    broken = [True]
    source = Reactive.of([1, 2])
    engine = Engine(careful(source, broken))
    with pytest.raises(Broken):
        engine.push(source, 0)
    broken.clear()
    assert values(engine.push(source, 0)) == [1, 2, 0]


def test_a_wrong_push_eats_nothing():
    source = Reactive.of([1])
    engine = Engine(one_way(source))
    with pytest.raises(InvalidArgument):
        engine.push(Reactive("stranger"), 1)
    with pytest.raises(InvalidArgument):
        engine.push(source, 1, at="soon")  # type: ignore[call-overload]  # wrong on purpose
    assert engine.stats.events == 0
    assert values(engine.pull()) == [1]


def test_a_half_eaten_prefix_goes_on_where_it_was_after_a_restore():
    broken = [True]
    output = careful(Reactive.of([1, 0, 2]), broken)
    engine = Engine(output)
    with pytest.raises(Broken):
        engine.pull()
    restored = Engine.restore(engine.snapshot(), output)
    with pytest.raises(Broken):
        restored.pull()
    broken.clear()
    assert values(restored.pull())[-2:] == [0, 2]
    assert restored.stats.events == 3


@pytest.mark.parametrize(
    "item", [Event("a", 5, 5, weight=-1), Event("a", 9, 5), Event("a", 1.5, 1.5)], ids=["weight", "order", "float"]
)
def test_an_event_that_cannot_be_pushed_is_refused(item):
    engine = Engine(one_way(Reactive.of([item])))
    with pytest.raises(InvalidArgument):
        engine.pull()
    assert engine.stats.events == 0


def test_an_error_of_the_items_comes_out():
    def items():
        yield 1
        raise Broken

    with pytest.raises(Broken):
        Engine(one_way(Reactive.of(items()))).pull()


# -------------------------------------------------------------------------------------------------------- under asyncio


async def settle():
    """Let all other tasks go as far as they can."""
    for _ in range(50):
        await asyncio.sleep(0)


def play_out(main: Callable[[], Any]) -> Any:
    """Run ``main``; nothing may be left over: no task, and nothing for the loop to complain about."""
    problems: list[Any] = []

    async def guarded():
        asyncio.get_running_loop().set_exception_handler(lambda _, context: problems.append(context["message"]))
        result = await main()
        await settle()
        assert asyncio.all_tasks() == {asyncio.current_task()}
        return result

    result = asyncio.run(guarded())
    gc.collect()
    assert problems == []
    return result


async def coming(*items, error=None, closed=None):
    try:
        for item in items:
            await asyncio.sleep(0)
            yield item
        if error is not None:
            raise error
    finally:
        if closed is not None:
            closed.append(True)


class Items:
    """An async iterable that is no iterator."""

    def __init__(self, *items):
        self.items = items

    def __aiter__(self):
        return coming(*self.items)


async def collect(engine, **options):
    return values([event async for event in engine.events(**options)])


async def collect_into(got, engine):
    async for event in engine.events():
        got.append(event.value)


def test_async_generators_and_iterables_are_inputs():
    async def main():
        return await collect(Engine(zip_(Reactive.of(coming(1, 2, 3)), Reactive.of(Items("a", "b", "c")))))

    assert play_out(main) == [(1, "a"), (2, "b"), (3, "c")]


def test_sources_by_input_go_beside_the_inputs_own():
    async def main():
        left, right = Reactive("left"), Reactive.of(coming("a", "b"))
        return await collect(Engine(zip_(left, right)), sources={left: coming(1, 2)})

    assert play_out(main) == [(1, "a"), (2, "b")]


def test_a_prefix_comes_before_what_is_coming():
    async def main():
        left, right = Reactive.of([1, 2]), Reactive.of(coming("a", "b", "c"))
        engine = Engine(cartesian(left, right, restrict=affinely(left, right)))
        return await collect(engine, sources={left: coming(3)})

    got = play_out(main)
    assert got[0] == (2, "a")
    assert sorted(left for left, _ in got) == [1, 2, 3]


def test_an_event_keeps_its_time_if_it_comes_from_an_async_iterable():
    """Reactive.of: payloads, or an `Event` each where the time matters: an iterable, or an async iterable."""

    async def main():
        return [event async for event in Engine(one_way(Reactive.of(coming(Event("a", 5, 9), "b")))).events()]

    assert [(e.value, e.start, e.end) for e in play_out(main)] == [("a", 5, 9), ("b", 10, 10)]


def test_it_stops_at_completion_and_leaves_the_rest_of_its_sources():
    closed: list[bool] = []

    async def endless():
        try:
            number = 0
            while True:
                await asyncio.sleep(0)
                yield number
                number += 1
        finally:
            closed.append(True)

    async def main():
        engine = Engine(zip_(Reactive.of(endless()), Reactive.of(coming("a", "b"))))
        got = await collect(engine)
        assert engine.done
        return got

    assert play_out(main) == [(0, "a"), (1, "b")]
    gc.collect()
    assert closed == [True]


def test_what_is_done_already_gives_nothing():
    async def main():
        left, right = Reactive("left"), Reactive("right")
        engine = Engine(zip_(left, right))
        engine.end(left)
        return await collect(engine, sources={right: coming(1, 2)})

    assert play_out(main) == []


def test_it_ends_with_its_sources_though_other_inputs_go_on():
    async def main():
        left, right = Reactive.of(coming(1, 2)), Reactive("right")
        engine = Engine(cartesian(left, right))
        engine.push(right, "r")
        got = await collect(engine)
        assert not engine.done
        return got + values(engine.push(right, "s"))

    assert play_out(main) == [(1, "r"), (2, "r"), (2, "s"), (1, "s")]


@pytest.mark.parametrize("wrong", [Reactive("s"), 7, "s", [Reactive("s")]], ids=repr)
def test_sources_that_are_not_by_input_are_refused(wrong):
    with pytest.raises(InvalidArgument, match=r"^events: expected async iterables by input"):
        Engine(one_way(Reactive("s"))).events(wrong)


def test_each_source_that_ends_ends_its_input():
    async def main():
        left, right = Reactive.of(coming(1)), Reactive.of(coming())
        engine = Engine(correlate(x=left, y=right, yields=lambda x, y: x))
        await collect(engine)
        with pytest.raises(InvalidArgument, match="has ended"):
            engine.push(right, 1)
        return engine.done

    assert play_out(main)


def test_it_shows_what_the_pushes_of_another_task_emit():
    async def main():
        source = Reactive("source")
        engine = Engine(one_way(source))
        listening = asyncio.create_task(collect(engine))
        await settle()
        engine.push(source, 1)
        await settle()
        engine.push(source, 2)
        engine.push(source, 3)
        engine.close()
        return await listening

    assert play_out(main) == [1, 2, 3]


def test_it_shows_what_an_advance_and_an_end_emit():
    from restrictions.streams import buffer

    async def main():
        source = Reactive("source")
        engine = Engine(buffer(source, 2))
        listening = asyncio.create_task(collect(engine))
        await settle()
        for number in range(3):
            engine.push(source, number)
        engine.end(source)
        return await listening

    assert play_out(main) == [[0, 1], [2]]


def test_it_shows_what_is_emitted_between_the_call_and_the_first_iteration():
    """Engine.events: iterate over what the outputs emit from now on."""

    async def main():
        source = Reactive("source")
        engine = Engine(one_way(source))
        coming_events = engine.events()
        engine.push(source, 1)
        engine.close()
        return values([event async for event in coming_events])

    assert play_out(main) == [1]


def test_two_listeners_both_see_everything():
    async def main():
        source = Reactive("source")
        engine = Engine(one_way(source))
        listening = [asyncio.create_task(collect(engine)) for _ in range(2)]
        await settle()
        engine.push(source, 1)
        engine.push(source, 2)
        engine.close()
        return [await one for one in listening]

    assert play_out(main) == [[1, 2], [1, 2]]


@pytest.mark.parametrize("make", [coming, Items])
def test_two_listeners_eat_an_input_once_together(make):
    async def main():
        engine = Engine(one_way(Reactive.of(make(1, 2, 3))))
        first = asyncio.create_task(collect(engine))
        second = asyncio.create_task(collect(engine))
        got = await asyncio.gather(first, second)
        assert engine.stats.events == 3
        return got

    assert play_out(main) == [[1, 2, 3], [1, 2, 3]]


@pytest.mark.parametrize("leaves", ["cancelled", "closed", "broken off"])
@pytest.mark.parametrize("make", [coming, Items])
def test_another_iteration_feeds_an_input_once_the_first_is_left(make, leaves):
    async def listen(events):
        async for event in events:
            if event.value == 3 and leaves != "cancelled":
                break
        if leaves == "closed":
            await events.aclose()

    async def main():
        engine = Engine(one_way(Reactive.of(make(*range(50)))))
        first = asyncio.create_task(listen(engine.events()))
        others = [asyncio.create_task(collect(engine)) for _ in range(2)]
        if leaves == "cancelled":
            while engine.stats.events < 4:
                await asyncio.sleep(0)
            first.cancel()
            with pytest.raises(asyncio.CancelledError):
                await first
        else:
            await first
        got = await asyncio.gather(*others)
        assert (engine._listeners, engine.hearing, engine.feeds, engine.fed) == ([], [], [], set())
        return got

    assert play_out(main) == [[*range(50)]] * 2


def test_an_error_of_a_source_comes_out_of_the_iteration_that_feeds_it_now():
    async def failing():
        for n in range(6):
            yield n
        message = "the source failed"
        raise OSError(message)

    async def main():
        engine = Engine(one_way(Reactive.of(failing())))
        second = None
        async for event in engine.events():
            second = asyncio.create_task(collect(engine))
            await asyncio.sleep(0)
            assert event.value == 0
            break
        assert second is not None
        with pytest.raises(OSError, match="the source failed"):
            await second

    play_out(main)


def test_who_takes_a_feed_over_goes_on_with_what_else_it_hears():
    async def main():
        fed, fed_as_well, pushed = (Reactive(name) for name in "abc")
        engine = Engine(one_way(fed), one_way(fed_as_well), one_way(pushed))
        first = engine.events({fed: coming(1, 2, 3)})
        assert (await anext(first)).value == 1
        got: list[Any] = []
        heir = asyncio.create_task(collect_into(got, engine))
        other = asyncio.create_task(collect(engine, sources={fed_as_well: coming(*range(100, 120))}))
        await asyncio.sleep(0)
        await first.aclose()  # type: ignore[attr-defined]  # a generator
        assert sorted(await other) == [2, 3, *range(100, 120)]
        engine.push(pushed, 7)
        engine.close()
        await heir
        assert sorted(got) == [2, 3, 7, *range(100, 120)]

    play_out(main)


def test_what_a_source_that_failed_fed_is_fed_by_no_heir():
    async def failing():
        yield 1
        message = "the source failed"
        raise OSError(message)

    async def main():
        source = Reactive("source")
        engine = Engine(one_way(source))
        first = asyncio.create_task(collect(engine, sources={source: failing()}))
        other = asyncio.create_task(collect(engine))
        with pytest.raises(OSError, match="the source failed"):
            await first
        assert (engine.feeds, engine.fed) == ([], set())
        assert await collect(engine, sources={source: coming(2)}) == [2]
        assert await other == [1, 2]

    play_out(main)


def test_who_was_left_in_another_loop_takes_no_feed_over():
    async def main():
        source = Reactive("source")
        engine = Engine(one_way(source))
        other = asyncio.new_event_loop()
        other.close()  # as if who ran it had died in the middle of an iteration
        engine.hearing.append((other, asyncio.Queue(), {}))
        async for event in engine.events({source: coming(*range(100))}):
            if event.value == 3:
                break
        await settle()
        assert (engine.feeds, engine.fed) == ([], set())

    play_out(main)


def test_an_error_that_nobody_was_told_is_told_to_who_goes_on():
    async def failing():
        yield 1
        message = "the source failed"
        raise OSError(message)

    async def main():
        engine = Engine(one_way(Reactive.of(failing())))
        async for _ in engine.events():
            second = asyncio.create_task(collect(engine))
            await settle()  # the source has failed meanwhile
            break
        with pytest.raises(OSError, match="the source failed"):
            await second

    play_out(main)


@pytest.mark.parametrize("begins", ["meanwhile", "later"])
def test_an_input_is_fed_anew_though_its_source_took_long_to_end_and_that_was_cancelled_too(begins):
    async def slow(*items):
        try:
            for item in items:
                yield item
                await asyncio.sleep(0)
        finally:
            await settle()

    async def main():
        source = Reactive("source")
        engine = Engine(one_way(source))
        first = asyncio.create_task(collect(engine, sources={source: slow(*range(100))}))
        while engine.stats.events < 3:
            await asyncio.sleep(0)
        first.cancel()
        await asyncio.sleep(0)
        await asyncio.sleep(0)
        second = asyncio.create_task(collect(engine, sources={source: coming(200, 201)}))
        if begins == "later":
            second.cancel()
            first.cancel()
        with pytest.raises(asyncio.CancelledError):
            await first
        await settle()
        if begins == "later":
            second = asyncio.create_task(collect(engine, sources={source: coming(200, 201)}))
        assert [value for value in await second if value >= 200] == [200, 201]

    play_out(main)


@pytest.mark.parametrize("output", ["skip_until", "never"])
def test_closing_the_engine_ends_the_iteration_though_the_output_never_completes(output):
    """Engine.events: it ends when the outputs have completed, … or the engine is closed."""

    async def main():
        source, other = Reactive("source"), Reactive("other")
        made = {"skip_until": skip_until(source, other), "never": cartesian(source, never())}[output]
        engine = Engine(made)
        listening = asyncio.create_task(collect(engine))
        await settle()
        engine.close()
        await settle()
        is_over = listening.done()
        listening.cancel()
        await asyncio.gather(listening, return_exceptions=True)
        return is_over

    assert play_out(main)


def test_an_engine_that_was_closed_before_gives_nothing():
    async def main():
        source, other = Reactive("source"), Reactive("other")
        engine = Engine(skip_until(source, other))
        engine.close()
        listening = asyncio.create_task(collect(engine))
        await settle()
        is_over = listening.done()
        listening.cancel()
        await asyncio.gather(listening, return_exceptions=True)
        return is_over

    assert play_out(main)


def test_an_error_of_a_source_comes_out_after_what_it_gave():
    closed: list[bool] = []

    async def main():
        left, right = Reactive.of(coming(1, 2, error=Broken())), Reactive.of(coming(*range(99), closed=closed))
        got: list[Any] = []
        engine = Engine(correlate(x=left, y=right, yields=lambda x: x, restrict=affinely("x")))
        with pytest.raises(Broken):
            await collect_into(got, engine)
        return got

    assert play_out(main) == [1, 2]
    gc.collect()
    assert closed == [True]


def test_an_error_of_a_body_comes_out():
    async def main():
        def where(x):
            return 1 // x > 0

        with pytest.raises(ZeroDivisionError) as caught:
            await collect(Engine(correlate(x=Reactive.of(coming(1, 0)), where=where, yields=lambda x: x, name="out")))
        assert any("'of'" in note for note in caught.value.__notes__)

    play_out(main)


def test_a_source_that_was_cancelled_elsewhere_does_not_hang_the_iteration():
    async def main():
        async def awaiting():
            yield 1
            raise asyncio.CancelledError

        engine = Engine(one_way(Reactive.of(awaiting())))
        listening = asyncio.create_task(collect(engine))
        await settle()
        is_over = listening.done()
        listening.cancel()
        await asyncio.gather(listening, return_exceptions=True)
        return is_over

    assert play_out(main)


def test_what_is_no_async_iterable_comes_out_as_an_error():
    async def main():
        source = Reactive("source")
        wrong: Any = [1, 2]
        with pytest.raises((TypeError, InvalidArgument)):
            await collect(Engine(one_way(source)), sources={source: wrong})

    play_out(main)


def test_an_input_that_is_not_of_this_engine_is_refused_at_once():
    source = Reactive("source")
    output = one_way(source)
    engine = Engine(output)
    for wrong in (Reactive("stranger"), Reactive("source"), output):
        with pytest.raises(InvalidArgument, match="events: expected an input of this engine"):
            engine.events(sources={wrong: Items(1)})


def test_cancelling_in_mid_iteration_leaves_the_engine_usable():
    closed: list[bool] = []

    async def main():
        source = Reactive("source")
        engine = Engine(one_way(source))
        listening = asyncio.create_task(collect(engine, sources={source: coming(*range(1000), closed=closed)}))
        await asyncio.sleep(0)
        await asyncio.sleep(0)
        await asyncio.sleep(0)
        listening.cancel()
        with pytest.raises(asyncio.CancelledError):
            await listening
        await settle()
        eaten = engine.stats.events
        assert eaten < 1000
        await settle()
        assert engine.stats.events == eaten
        assert values(engine.push(source, "after")) == ["after"]
        assert engine._listeners == []

    play_out(main)
    gc.collect()
    assert closed == [True]


def test_leaving_the_loop_early_stops_the_feeding():
    async def main():
        source = Reactive("source")
        engine = Engine(one_way(source))
        async for event in engine.events(sources={source: coming(*range(1000))}):
            if event.value == 3:
                break
        await settle()
        assert engine.stats.events <= 6
        assert engine._listeners == []
        engine.push(source, "after")
        return await collect(engine, sources={source: coming(7, 8)})

    assert play_out(main) == [7, 8]


def test_closing_the_iterator_itself_stops_the_feeding():
    async def main():
        source = Reactive("source")
        engine = Engine(one_way(source))
        iterator: Any = engine.events(sources={source: coming(*range(1000))})
        assert (await anext(iterator)).value == 0
        await iterator.aclose()
        assert engine._listeners == []
        eaten = engine.stats.events
        await settle()
        assert engine.stats.events == eaten

    play_out(main)


def test_a_slow_reader_holds_its_sources_back():
    async def main():
        source = Reactive("source")
        engine = Engine(one_way(source))
        seen = []
        async for event in engine.events(sources={source: coming(*range(20))}):
            seen.append(engine.stats.events - event.value)
            await settle()
            seen.append(engine.stats.events - event.value)
        return seen

    assert max(play_out(main)) <= 3


def test_a_source_that_is_cancelled_in_what_it_waits_for_does_not_end_in_silence():
    """A group of tasks passes over a member that was cancelled: the input would never end, and nobody would hear."""

    async def waiting():
        yield "a"
        work = asyncio.ensure_future(asyncio.sleep(3600))
        work.cancel()
        await work
        yield "never"

    async def main():
        got: list[Any] = []
        left, right = Reactive.of(waiting()), Reactive.of(coming(1, 2))
        engine = Engine(correlate(x=left, y=right, yields=lambda x, y: (x, y)))
        with pytest.raises(asyncio.CancelledError):
            await collect_into(got, engine)
        return got

    assert play_out(main)


@pytest.mark.parametrize("items", [[1, 2], 5, None])
def test_what_is_no_async_iterable_is_refused_by_events_at_once(items):
    left = Reactive("left")
    engine = Engine(map_(left, lambda value: value))
    with pytest.raises(InvalidArgument, match="events: expected an async iterable for 'left' but got"):
        engine.events({left: items})


@pytest.mark.filterwarnings("ignore::pytest.PytestUnraisableExceptionWarning")  # asyncio's, of the task that is left
def test_who_listened_in_a_loop_that_is_closed_is_passed_over_and_the_others_hear_all():
    left = Reactive("left")
    output = map_(left, lambda value: value)
    engine, told = Engine(output), []

    async def read():
        async for _ in engine.events():
            """Wait for more."""

    loop = asyncio.new_event_loop()
    task = loop.create_task(read())
    loop.run_until_complete(asyncio.sleep(0))
    loop.run_until_complete(asyncio.sleep(0))
    loop.close()  # as if who ran it had died
    engine.subscribe(output, lambda events: told.extend(event.value for event in events))
    other = engine.events()
    for value in 1, 2:
        assert [event.value for event in engine.push(left, value)] == [value]
    engine.close()

    async def rest():
        return [event.value async for event in other]

    assert (told, asyncio.run(rest())) == ([1, 2], [1, 2])
    with suppress(RuntimeError):
        task.get_coro().close()
