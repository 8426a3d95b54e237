"""streams_equivalent against brute force: all linearisations of small traces, under random and the ready relations.

The theorem: the matcher says yes exactly if the streams are the same up to swaps of adjacent independent items,
whatever the interleaving in which they come; a no on the way is final. It asks that equality and dependence be
compatible, so equality is by letter here, in lower or upper case, and dependence is between letters.

Source: SOURCES E1 and E4; SEMANTICS 4.
"""

from __future__ import annotations

import itertools
from collections import Counter

from hypothesis import example, given
from hypothesis import strategies as st

from cartesius import Delete, Engine, Event, Reactive, Update
from cartesius.testing import (
    Matcher,
    all_depend,
    end_of_day,
    end_of_month,
    equal_by,
    none_depend,
    punctuation,
    reordered,
    same_key,
    streams_equivalent,
)
from restrictions import as_table, cartesian, combine_latest, most_recently, retracting, zip_

LETTERS = "abcd"
PAIRS = list(itertools.combinations_with_replacement(LETTERS, 2))
RELATIONS = st.sets(st.sampled_from(PAIRS)).map(frozenset)
ITEMS = st.sampled_from(LETTERS + LETTERS.upper())
TRACES = st.lists(ITEMS, max_size=6).map(tuple)


def dependence(relation):
    return lambda a, b: (a.lower(), b.lower()) in relation or (b.lower(), a.lower()) in relation


def equal(a, b):
    return a.lower() == b.lower()


def linearisations(trace, relation):
    """Every trace that swaps of adjacent independent items lead to, letters in lower case."""
    depends = dependence(relation)
    start = tuple(item.lower() for item in trace)
    found, pending = {start}, [start]
    while pending:
        word = pending.pop()
        for place in range(len(word) - 1):
            a, b = word[place : place + 2]
            swapped = (*word[:place], b, a, *word[place + 2 :])
            if not depends(a, b) and swapped not in found:
                found.add(swapped)
                pending.append(swapped)
    return found


def are_equivalent(one, other, relation):
    return tuple(item.lower() for item in other) in linearisations(one, relation)


@st.composite
def pairs_of_traces(draw):
    """Two traces: independent ones, or the second a permutation of the first, perhaps by allowed swaps alone."""
    relation, one = draw(RELATIONS), draw(TRACES)
    kind = draw(st.sampled_from(["any", "permutation", "linearisation", "nearly"]))
    if kind == "any":
        other = draw(TRACES)
    elif kind == "permutation":
        other = tuple(draw(st.permutations(one)))
    else:
        other = draw(st.sampled_from(sorted(linearisations(one, relation))))
        if kind == "nearly" and len(other) > 1:
            place = draw(st.integers(0, len(other) - 2))
            other = (*other[:place], other[place + 1], other[place], *other[place + 2 :])
    return relation, one, other


@given(case=pairs_of_traces())
@example(case=(frozenset({("a", "b")}), tuple("abc"), tuple("cab")))
@example(case=(frozenset({("a", "b"), ("b", "c")}), tuple("acb"), tuple("cab")))
@example(case=(frozenset({("a", "a")}), tuple("aba"), tuple("baa")))
def test_it_agrees_with_brute_force(case):
    relation, one, other = case
    assert bool(streams_equivalent(one, other, dependence(relation), equal)) == are_equivalent(one, other, relation)


@given(case=pairs_of_traces(), order=st.lists(st.sampled_from([1, 2]), max_size=12))
def test_the_interleaving_does_not_matter_and_a_failure_on_the_way_is_final(case, order):
    relation, one, other = case
    matcher, streams = Matcher(dependence(relation), equal), {1: list(one), 2: list(other)}
    answers = []
    for stream in [*order, *([1] * len(one)), *([2] * len(other))]:
        if streams[stream]:
            answers.append(matcher.feed(stream, streams[stream].pop(0)))
    expected = are_equivalent(one, other, relation)
    assert bool(matcher.finish()) == expected
    if not all(answers):
        assert not expected
        first = next(answer for answer in answers if not answer)
        assert matcher.finish() is first


def as_printed(interleaving, depends):
    """The algorithm as SOURCES E4 has it; the answer, and how many items were taken when it was certain."""
    unmatched = {1: [], 2: []}

    def is_minimal(x, earlier):
        return not any(depends(x, y) for y in earlier)

    for taken, (x, i) in enumerate(interleaving, 1):
        own, others = unmatched[i], unmatched[3 - i]
        equals = [n for n, y in enumerate(others) if is_minimal(y, others[:n]) and equal(x, y)]
        if is_minimal(x, own) and equals:
            del others[equals[0]]
        elif any(depends(x, y) for y in others):
            return False, taken
        else:
            own.append(x)
    return not unmatched[1] and not unmatched[2], len(interleaving)


@given(case=pairs_of_traces(), order=st.lists(st.sampled_from([1, 2]), max_size=12))
def test_one_walk_along_the_other_stream_decides_as_the_printed_algorithm_and_no_later(case, order):
    relation, one, other = case
    streams = {1: list(one), 2: list(other)}
    interleaving = [
        (streams[stream].pop(0), stream)
        for stream in [*order, *([1] * len(one)), *([2] * len(other))]
        if streams[stream]
    ]
    matcher, answers = Matcher(dependence(relation), equal), []
    for item, stream in interleaving:
        answers.append(bool(matcher.feed(stream, item)))
    decided = answers.index(False) + 1 if False in answers else len(interleaving)
    assert (bool(matcher.finish()), decided) == as_printed(interleaving, dependence(relation))


@given(case=pairs_of_traces())
def test_it_is_symmetric(case):
    relation, one, other = case
    depends = dependence(relation)
    assert bool(streams_equivalent(one, other, depends, equal)) == bool(streams_equivalent(other, one, depends, equal))


@given(relation=RELATIONS, trace=TRACES)
def test_it_is_reflexive_and_then_keeps_at_most_one_item(relation, trace):
    assert streams_equivalent(trace, trace, dependence(relation), equal)
    matcher = Matcher(dependence(relation), equal)
    for item in trace:
        for stream in (1, 2):
            assert matcher.feed(stream, item)
            assert len(matcher.unmatched[1]) == 2 - stream
            assert not matcher.unmatched[2]


@given(case=pairs_of_traces(), data=st.data())
def test_swapping_adjacent_independent_items_changes_nothing(case, data):
    relation, one, other = case
    depends = dependence(relation)
    places = [p for p in range(len(one) - 1) if not depends(*one[p : p + 2])]
    swapped = one
    if places:
        p = data.draw(st.sampled_from(places))
        swapped = (*one[:p], one[p + 1], one[p], *one[p + 2 :])
    assert streams_equivalent(one, swapped, depends, equal)
    assert bool(streams_equivalent(swapped, other, depends, equal)) == bool(
        streams_equivalent(one, other, depends, equal)
    )


@given(case=pairs_of_traces(), more=TRACES)
def test_a_common_ending_changes_nothing(case, more):
    """Trace monoids are cancellative."""
    relation, one, other = case
    depends = dependence(relation)
    expected = bool(streams_equivalent(one, other, depends, equal))
    assert bool(streams_equivalent((*one, *more), (*other, *more), depends, equal)) == expected
    assert bool(streams_equivalent((*more, *one), (*more, *other), depends, equal)) == expected


@given(case=pairs_of_traces())
def test_a_failure_names_an_item_of_its_stream(case):
    relation, one, other = case
    answer = streams_equivalent(one, other, dependence(relation), equal)
    if not answer:
        assert answer.index is not None
        assert answer.item == (one if answer.stream == 1 else other)[answer.index]
        assert repr(answer.item) in answer.reason
    else:
        assert answer.reason == ""


def of(kind):
    return lambda item: item[0] == kind


def ready(name):
    """A ready relation, and the same as a predicate, written from its description."""
    return {
        "all": (all_depend(), lambda a, b: True),
        "none": (none_depend(), lambda a, b: False),
        "key": (same_key(lambda item: item[1]), lambda a, b: a[1] is not None and a[1] == b[1]),
        "punctuation": (
            punctuation(of("p"), lambda item: item[2]),
            lambda a, b: (a[0] == "p" and b[2] < a[2]) or (b[0] == "p" and a[2] < b[2]),
        ),
        "day": (end_of_day(of("d")), lambda a, b: "d" in (a[0], b[0])),
        "month": (end_of_month(of("m")), lambda a, b: a[0] == b[0] == "m"),
        "taxis": (
            end_of_day(of("d")) | end_of_month(of("m")) | same_key(lambda item: item[1] if item[0] == "t" else None),
            lambda a, b: (
                "d" in (a[0], b[0]) or a[0] == b[0] == "m" or (a[0] == b[0] == "t" and a[1] == b[1] is not None)
            ),
        ),
    }[name]


THINGS = st.tuples(st.sampled_from("ttdmp"), st.sampled_from([None, 1, 2]), st.integers(0, 2))
RELATED = st.sampled_from(["all", "none", "key", "punctuation", "day", "month", "taxis"])


def swapped_in_all_ways(trace, depends):
    found, pending = {trace}, [trace]
    while pending:
        word = pending.pop()
        for p in range(len(word) - 1):
            swapped = (*word[:p], word[p + 1], word[p], *word[p + 2 :])
            if not depends(*word[p : p + 2]) and swapped not in found:
                found.add(swapped)
                pending.append(swapped)
    return found


@given(name=RELATED, one=st.lists(THINGS, max_size=5).map(tuple), data=st.data())
def test_the_ready_relations_agree_with_brute_force_over_what_they_say(name, one, data):
    """With every equality: what finds equals by their form, and what does not."""
    relation, says = ready(name)
    assert all(relation(a, b) == bool(says(a, b) or says(b, a)) for a, b in itertools.product(one, repeat=2))
    other = data.draw(st.one_of(st.permutations(one).map(tuple), st.lists(THINGS, max_size=5).map(tuple)))
    expected = other in swapped_in_all_ways(one, lambda a, b: says(a, b) or says(b, a))
    for same in (None, lambda a, b: a == b, equal_by(list)):
        assert bool(streams_equivalent(one, other, relation, same)) == expected
        answers = [streams_equivalent(one, other, how, same) for how in (relation, says)]
        assert answers[0] == answers[1]  # `apart` saves comparisons, and nothing else


@given(name=RELATED, items=st.lists(THINGS, max_size=5).map(tuple), seed=st.integers(0, 99))
def test_a_reordered_stream_is_a_linearisation(name, items, seed):
    relation, says = ready(name)
    assert tuple(reordered(items, relation, seed=seed)) in swapped_in_all_ways(
        items, lambda a, b: says(a, b) or says(b, a)
    )
    assert streams_equivalent(items, reordered(items, relation, seed=seed), relation)


VALUES = st.one_of(st.integers(0, 2), st.sampled_from([1.0, True, "a", None, float("nan")]))
EVENTS = st.lists(st.builds(Event, VALUES, st.just(1), st.integers(1, 2), st.sampled_from([1, -1])), max_size=5)


def exactly(event):
    return (type(event.value), repr(event.value), event.end, event.weight)


@given(one=EVENTS, other=EVENTS, data=st.data())
def test_by_default_events_are_multisets_of_exact_values(one, other, data):
    if data.draw(st.booleans()):
        other = data.draw(st.permutations(one))
    expected = Counter(map(exactly, one)) == Counter(map(exactly, other))
    assert bool(streams_equivalent(one, other)) == expected


CHANGES = st.lists(
    st.one_of(st.builds(Update, st.sampled_from("EF"), st.integers(0, 1)), st.builds(Delete, st.sampled_from("EF"))),
    max_size=6,
)


@given(one=CHANGES, other=CHANGES, data=st.data())
def test_by_default_changes_are_sequences_by_key(one, other, data):
    if data.draw(st.booleans()):
        other = data.draw(st.permutations(one))
    expected = all([c for c in one if c.key == key] == [c for c in other if c.key == key] for key in "EF")
    assert bool(streams_equivalent(one, other)) == expected
    events = [[Event(change, 1, 1) for change in changes] for changes in (one, other)]
    assert bool(streams_equivalent(events[0], events[1])) == expected


STEPS = st.lists(st.tuples(st.integers(0, 1), st.sampled_from("EF"), st.integers(0, 2)), max_size=10)


def outputs(make, steps):
    inputs = [Reactive("left"), Reactive("right")]
    engine = Engine(make(*inputs))
    return [event for time, (source, *value) in steps for event in engine.push(inputs[source], tuple(value), at=time)]


@given(steps=STEPS, data=st.data())
def test_the_order_of_arrival_does_not_matter_to_the_product_nor_that_of_channels_to_zip(steps, data):
    """The use it is made for: an operator on its input and on a shuffled one."""
    timed = list(enumerate(steps))
    shuffled = data.draw(st.permutations(timed))
    assert streams_equivalent(outputs(cartesian, timed), outputs(cartesian, shuffled))
    by_source = sorted(timed, key=lambda step: step[1][0])  # independent channels keep their own order
    assert streams_equivalent(outputs(zip_, timed), outputs(zip_, by_source))


def test_it_notices_an_operator_that_depends_on_the_order():
    first, second, third = enumerate([(0, "E", 1), (1, "E", 2), (0, "E", 3)])
    one, other = [first, second, third], [first, third, second]
    assert not streams_equivalent(outputs(combine_latest, one), outputs(combine_latest, other))


@given(steps=STEPS)
def test_changes_of_a_table_may_be_grouped_by_key(steps):
    def latest(left, right):
        pairs = most_recently("left", "right") | retracting() | as_table(lambda row: row[0][0])
        return cartesian(left, right, restrict=pairs)

    changes = outputs(latest, list(enumerate(steps)))
    assert streams_equivalent(changes, sorted(changes, key=lambda event: event.value.key))
