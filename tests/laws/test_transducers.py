"""Data transducers against naive iteration: registers are the least fixed point, for few and counted steps.

The oracle is written from SOURCES E6 and knows nothing of levels or work lists: it puts what the transitions ask for
into every register at once, again and again, from all undefined, until nothing changes.
"""

from __future__ import annotations

from typing import Any

from hypothesis import given as for_all
from hypothesis import strategies as st

from cartesius.transducers import CONFLICT, INITIAL, UNDEFINED, New, Transducer, Transition

STATES = "pqrst"
TAGS = "ab"


def term(kind, constant):
    """A pure function of any number of values; a guard says nothing of some of them."""

    def total(*values):
        found = (constant + sum(values)) % 7
        return UNDEFINED if kind == "guard" and found % 3 == 0 else found

    return total


def transitions(tag):
    kinds: list[Any] = [New(state) for state in STATES]
    if tag is not INITIAL:
        kinds += list(STATES)
    sources = st.lists(st.sampled_from(kinds), max_size=3, unique=True).map(tuple)
    terms = st.builds(term, st.sampled_from(["plain", "plain", "guard"]), st.integers(0, 6))
    return st.builds(Transition, st.just(tag), sources, st.sampled_from(STATES), terms)


@st.composite
def programs(draw):
    """Transitions of all tags, what the beginning gives, and items."""
    found = [
        one for tag in (INITIAL, *TAGS) for one in draw(st.lists(transitions(tag), max_size=4 if tag is INITIAL else 9))
    ]
    given = draw(st.dictionaries(st.sampled_from(STATES), st.sampled_from([1, 2, CONFLICT, UNDEFINED]), max_size=3))
    items = draw(st.lists(st.tuples(st.sampled_from(TAGS), st.integers(0, 6)), max_size=4))
    return found, given, items


def machine(found):
    return Transducer(list(STATES), found, tags=list(TAGS), initial=list(STATES))


# ------------------------------------------------------------------------------------------------------------ oracle


def joined(values):
    """Multiset union: one value is itself, two are a conflict, be they equal."""
    there = [value for value in values if value is not UNDEFINED]
    return UNDEFINED if there == [] else there[0] if len(there) == 1 else CONFLICT


def meaning(transition, old, new, cur):
    values = [new[one.state] if isinstance(one, New) else old[one] for one in transition.sources]
    if any(value is UNDEFINED for value in values):
        return UNDEFINED
    if any(value is CONFLICT for value in values):
        return CONFLICT
    return transition.term(*values, *cur)


def least(found, tag, old, cur, given):
    """The least vector, by iteration from below."""
    new = dict.fromkeys(STATES, UNDEFINED)
    while True:
        mine = [one for one in found if one.tag == tag]
        following = {
            state: joined(
                [given.get(state, UNDEFINED), *[meaning(one, old, new, cur) for one in mine if one.target == state]]
            )
            for state in STATES
        }
        if following == new:
            return new
        new = following


def vectors(found, given, items):
    """The registers before the first item, and after each."""
    out = [least(found, INITIAL, {}, (), given)]
    for tag, value in items:
        out.append(least(found, tag, out[-1], (value,), {}))
    return out


# ------------------------------------------------------------------------------------------------------------ values


@for_all(programs())
def test_registers_are_the_least_fixed_point_and_cost_no_more_than_is_said_whatever_came_before(program):
    found, given, items = program
    whole, expected = machine(found), vectors(found, given, items)
    assert whole.run(items, given) == expected
    assert machine(found[::-1]).run(items, given) == expected  # the order of the transitions changes nothing
    running = whole.start(given)
    for tag, value in items:
        counts = running.counts
        before = counts.evaluations, counts.terms, counts.rises
        running.take(tag, value)
        evaluations, terms, rises = counts.evaluations - before[0], counts.terms - before[1], counts.rises - before[2]
        said, cost = whole.steps(tag), counts.latest
        mine = sum(one.tag == tag for one in found)
        assert terms <= mine
        assert rises <= 2 * len(STATES)
        assert evaluations == cost.total <= said.total <= 2 * mine
        assert cost.levels <= said.levels
        assert cost.parallel <= said.parallel


@for_all(st.lists(transitions("a"), min_size=1, max_size=9))
def test_levels_say_what_must_wait_for_what(found):
    said = machine(found).steps("a")
    assert -(-said.total // said.parallel) <= said.levels <= said.total
    old = [Transition("a", tuple(s for s in one.sources if isinstance(s, str)), one.target, one.term) for one in found]
    flat = machine(old).steps("a")
    assert (flat.total, flat.levels, flat.parallel) == (len(found), 1, len(found))
