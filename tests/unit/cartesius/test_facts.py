"""Nodes and facts: what a restriction says of itself, and what follows from it."""

from __future__ import annotations

import importlib
import pkgutil
import sys
from functools import partialmethod
from types import SimpleNamespace
from typing import TYPE_CHECKING, Any

import attrs
import pytest

import restrictions
from cartesius import (
    Absent,
    Engine,
    Reactive,
    Reliance,
    Restriction,
    Slot,
    Slots,
    arrive,
    correlate,
    displace,
    forward,
    handles,
    memory,
    push,
    start,
    state,
)
from cartesius.errors import InvalidArgument
from cartesius.language.restriction_base import _adds_to_plan
from cartesius.plan import (
    Apart,
    AsTable,
    Choose,
    Complete,
    InSequence,
    InTime,
    KeyBy,
    Lasting,
    Let,
    Lockstep,
    Never,
    Newest,
    Node,
    Now,
    Opaque,
    TakeBack,
    Transduce,
    Uses,
    Within,
    facts,
)
from restrictions import most_recently

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

LEFT, RIGHT = Reactive("left"), Reactive("right")


@attrs.frozen
class Saying:
    """Who has these nodes."""

    nodes: tuple[Node, ...]


NODES = [
    Newest(("x",), 2),
    Now(("x",)),
    Uses(("x",), 1),
    Let("x", bool),
    Lockstep(("x", "y"), 3, "fail"),
    InTime(5),
    Apart("x", "y", -1, 1),
    InSequence(("x", "y"), "relaxed"),
    InSequence(("x", "y"), "strict", "past_last"),
    Never("z", "x", "after", 5),
    Choose(leaves_out=True, counts=1),
    TakeBack(),
    AsTable("x"),
    Complete(("x",)),
    KeyBy({"x": "k"}),
    Opaque(),
    Opaque(held="", fields=None, relies=Reliance.NONE, pointwise=True, shares=True, variables=(1, 1), bound="O(1)"),
]

ANY: list[Callable[[Any], bool]] = [
    facts.consumes,
    facts.takes_back,
    facts.makes_table,
    facts.ends_early,
    facts.settles,
    facts.expires,
    facts.may_hold,
    facts.is_relative,
    facts.opens_windows,
    facts.is_common,
]
"""What several nodes do if one of them does."""
ALL: list[Callable[[Any], bool]] = [
    facts.is_pointwise,
    facts.looks_alone,
    facts.shares,
    facts.is_by_row,
    facts.is_of_the_door,
]
"""What several nodes are if each of them is."""


@pytest.mark.parametrize("one", NODES, ids=lambda node: type(node).__name__)
def test_what_several_nodes_say_is_never_better_than_what_each_says(one):
    for other in NODES:
        both, each = Saying((one, other)), [Saying((one,)), Saying((other,))]
        for fact in ANY:
            assert fact(both) == any(map(fact, each)), (fact, other)
        for fact in ALL:
            assert fact(both) == all(map(fact, each)), (fact, other)
        assert facts.reliance(both) == facts.reliance(each[0]) | facts.reliance(each[1])
        kept, fields = facts.fields_kept(both), [facts.fields_kept(part) for part in each]
        assert all(kept is not None and set(kept) <= set(part) for part in fields if part is not None)
        variables = [facts.state_variables(part) for part in each]
        assert (facts.state_variables(both) is None) == (None in variables)


@pytest.mark.parametrize("node", NODES, ids=lambda node: type(node).__name__)
def test_clauses_of_which_nothing_is_said_bound_no_memory(node):
    assert facts.bound(Saying((node, Opaque()))) is None
    assert facts.entries_kept(Saying((node, Opaque()))) is None


def test_bands_bound_the_times_of_parts_by_their_slots():
    x, y, z = (SimpleNamespace(index=index) for index in range(3))
    within = facts.bounds_on_times(Saying((Within((x, z), 5),)), 3)
    assert [(one.of, one.since, one.most, one.side) for one in within] == [
        (of, since, 5, "start") for of in (0, 2) for since in (0, 2)
    ]
    others = facts.bounds_on_times(Saying((Newest((x,), 1), Lasting(y, 4), Apart(x, y, -1, 2))), 2)
    assert [(one.of, one.since, one.most, one.side) for one in others] == [
        (0, 1, 4, "end"), (1, 1, 4, "end"), (1, 0, 2, "end"), (0, 1, 1, "end"),
    ]  # fmt: skip


BASES = {"of_streams", "template", "template_of_key", "windowing"}
"""Classes that nobody uses by themselves."""


def derived(kind: type[Restriction]) -> Iterator[type[Restriction]]:
    for one in kind.__subclasses__():
        yield one
        yield from derived(one)


def test_every_restriction_of_ours_says_what_it_means():
    for module in pkgutil.walk_packages(restrictions.__path__, "restrictions."):
        importlib.import_module(module.name)
    ours = {one for one in derived(Restriction) if one.__module__.startswith(("restrictions.", "cartesius."))}
    ours = {one for one in ours if getattr(sys.modules[one.__module__], one.__name__, None) is one}  # not of a doctest
    classes = {one for one in ours if not one.__name__.startswith("_") and one.__name__ not in BASES}
    assert len(classes) > 50
    silent = [one.__name__ for one in classes if _adds_to_plan(one) or one.plan is Restriction.plan]
    assert silent == []


# -- classes of a user's own -------------------------------------------------------------------------------------------


class same(most_recently):
    """It has another name, and another default."""

    n: int = 2


class keeping_more(most_recently):
    """It does something else."""

    @handles(push, "slots")
    def drop_older(self, slot, entry):
        forward(slot, entry)


def test_a_subclass_without_methods_means_the_same():
    assert same("x").nodes == (Newest(("x",), 2),)


def test_a_subclass_with_methods_means_something_besides():
    assert keeping_more("x").nodes == (Newest(("x",), 1), Opaque(consumes=False))
    engine = Engine(correlate(x=LEFT, y=RIGHT, yields=lambda x, y: (x, y), restrict=keeping_more("x")))
    engine.push(LEFT, 1), engine.push(LEFT, 2)
    assert [event.value for event in engine.push(RIGHT, 0)] == [(2, 0), (1, 0)]
    assert "no restriction bounds it" in str(engine.explain())


class last_few(Restriction):
    """It asks a helper of its own how many."""

    slots: Slots
    count: int = 2

    def kept(self):
        return self.count

    @handles(push, "slots")
    def drop_older(self, slot, entry):
        kept: Any = self.kept  # a method, or whatever a subclass has in its place
        for older in memory(slot)[kept() if callable(kept) else kept :]:
            displace(slot, older)
        forward(slot, entry)

    def plan(self):
        return (Newest(self.slots, self.count),)


HELPERS: dict[str, Any] = {
    "method": lambda self: 1,
    "classmethod": classmethod(lambda cls: 1),
    "staticmethod": staticmethod(lambda: 1),
    "property": property(lambda self: 1),
    "partialmethod": partialmethod(lambda self, n: n, 1),
    "class": type("One", (), {"__new__": lambda cls: 1}),
}


@pytest.mark.parametrize("is_late", [False, True])
@pytest.mark.parametrize("helper", HELPERS)
def test_whatever_takes_the_place_of_a_helper_means_something_besides(helper, is_late):
    made = type("one", (last_few,), {} if is_late else {"kept": HELPERS[helper]})
    if is_late:
        made.kept = HELPERS[helper]  # type: ignore[attr-defined]  # as one may
    found = []
    for tier in ("reference", "in_place", None):
        restrict = made("x", "y")
        engine = Engine(correlate(x=LEFT, y=RIGHT, yields=lambda x, y: (x, y), restrict=restrict), tier=tier)
        for n in (1, 2, 3):
            engine.push(LEFT, n)
        found.append([event.value for event in engine.push(RIGHT, 0)])
    assert found == [[(3, 0)]] * 3


class half_said(Restriction):
    """It names a slot that its plan does not: the node does not say all."""

    slots: Slots
    other: Slot

    def plan(self):
        return (Newest(self.slots, 1),)

    @handles(push, "slots", "other")
    def pass_on(self, slot, entry):
        forward(slot, entry)


def test_a_node_that_does_not_name_all_slots_is_not_run_in_place_of_the_clauses():
    engine = Engine(correlate(x=LEFT, y=RIGHT, yields=lambda x, y: (x, y), restrict=half_said("x", other="y")))
    engine.push(LEFT, 1), engine.push(LEFT, 2)
    assert [event.value for event in engine.push(RIGHT, 0)] == [(2, 0), (1, 0)]


class unless(Restriction):
    """It names what must not come."""

    never: Absent[Slots]
    slot: Slot


@pytest.mark.parametrize("planned", [Newest(("x",), 1), (), [Opaque()], (Opaque,), None])
def test_a_plan_that_is_no_tuple_of_nodes_is_refused(planned):
    class odd(Restriction):
        slot: Slot

        def plan(self):
            return planned

    with pytest.raises(
        InvalidArgument, match=r"odd: expected plan\(\) to return a tuple of nodes, as in \(Opaque\(\),\)"
    ):
        Engine(correlate(x=LEFT, yields=lambda x: x, restrict=odd("x")))


def test_a_transducer_says_all_that_a_class_does():
    class odd(Restriction):
        slot: Slot
        variable: str = "total"
        total = state(0)

        @handles(arrive, "slot")
        def take_in(self, slot, event):
            forward(slot, event)

        def plan(self):
            return (Transduce(slot=self.slot, variable=self.variable, step=lambda total, value: (total, (value,))),)

    class starting(odd):
        @handles(start)
        def begin(self):
            self.total = 1

        def plan(self):
            return super().plan()

    class counting(odd):
        count = state(0)

        def plan(self):
            return super().plan()

    assert odd("x").nodes
    for wrong in (odd("x", variable="totel"), starting("x"), counting("x")):
        with pytest.raises(InvalidArgument, match=r": expected what says Transduce\(variable='tot.l'\) to have"):
            Engine(correlate(x=LEFT, yields=lambda x: x, restrict=wrong))


def test_annotations_say_which_slots_are_absent():
    assert unless._absent == {"never"}
    assert unless._fields == {"never": "slots", "slot": "slot"}


def test_a_plan_of_an_installed_restriction_has_the_slots_themselves():
    engine = Engine(correlate(x=LEFT, y=RIGHT, yields=lambda x, y: (x, y), restrict=most_recently("y")))
    (join,) = engine._program.joins
    (node,) = join.installed[0].nodes
    assert node == Newest((join.slots[1],), 1)
    assert join.installed[0].restriction.nodes == (Newest(("y",), 1),)
