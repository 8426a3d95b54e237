"""What a notebook shows: every value as well-formed HTML that says what the value says, whatever stands in it."""

import json
import pickle
import re
from copy import copy
from datetime import UTC, datetime
from itertools import combinations
from typing import Any
from xml.etree import ElementTree

import pytest

from cartesius import Delete, Engine, Event, Reactive, Update, correlate, one_or_more
from cartesius.data.event_tables import events_html, label_of, rows_html
from cartesius.data.records import Record
from cartesius.drawing.html_tables import MOST_ROWS, HtmlText, paragraphs
from cartesius.drawing.markup import visible, width_of
from cartesius.errors import InvalidArgument
from cartesius.pictures import automaton, load_ipython_extension, marble_diagram
from cartesius.programs.failures import told
from cartesius.show.recordings import recording_of
from cartesius.show.show_answers import Answers
from cartesius.testing import Matcher, Monitor
from cartesius.transducers import Tracker
from restrictions import (
    cartesian,
    in_sequence,
    key_by,
    optionally,
    retracting,
    tumbling,
    within,
    without,
    zip_,
)
from restrictions.tables import filter_table
from tests.shown_html import HOSTILE, SVG, shown


def html_of(value: Any) -> str:
    return value._repr_html_()


def sightings(**options):
    echo, report = Reactive("echo"), Reactive("report")
    output = correlate(
        echo=echo,
        report=report,
        where=lambda echo, report: echo.cell == report.cell,
        yields=lambda echo, report: {"ship": report.ship, "size": echo.size},
        restrict=within(5, "echo", "report"),
        name="sightings",
    )
    engine = Engine(output, lateness=0, **options)
    engine.push(report, {"ship": "EVA", "cell": 7}, at=10)
    (event,) = engine.push(echo, {"cell": 7, "size": 3}, at=14)
    return engine, event, output


def test_an_event_is_a_row_with_its_fields_and_its_time():
    _, event, _ = sightings()
    assert shown(event) == "reactive time ship size sightings 10 to 14 EVA 3"
    assert shown(Event("tide", 3, 3)) == "time value 3 tide"


def test_events_of_several_kinds_are_a_table_with_one_column_of_values():
    events: list[Event] = [Event({"a": 1}, 1, 1), Event({"b": 2}, 2, 2), Event(None, 3, float("inf"), -1, "x")]
    assert shown(events_html(events)) == "reactive time value 1 {'a': 1} 2 {'b': 2} x 3 to ∞ null taken back"


def test_changes_of_a_table_have_their_keys():
    events: list[Event] = [Event(Update("EVA", {"depth": 9, "wind": 2}), 1, 1), Event(Delete("BO"), 2, 2)]
    assert shown(events_html(events)) == "time key depth wind 1 EVA 9 2 2 BO (deleted)"


def test_long_tables_say_how_many_rows_are_left_out():
    text = shown(events_html([Event(f"v{time}", time, time) for time in range(1234)]))
    assert f"v{MOST_ROWS - 1} " in text
    assert f"v{MOST_ROWS} " not in text
    assert text.endswith("1,214 more rows are left out")
    assert "left out" not in shown(events_html([Event(1, 1, 1)] * MOST_ROWS))


def test_a_record_is_shown_by_field():
    assert shown(Record({"ship": "EVA", "cell": None})) == "ship EVA cell null"


def test_an_engine_says_what_it_computes_and_holds():
    engine, _, _ = sightings()
    assert repr(engine) == "<engine of sightings; inputs echo, report; clock 14>"
    text = shown(engine)
    assert text.startswith("outputs sightings inputs echo, report clock 14 events pushed 2 candidates 1")
    assert text.endswith(shown(engine.stats))
    assert "sightings report 1 0" in shown(engine.stats)


def test_a_correlation_says_what_it_is_and_an_input_is_its_name():
    _, _, output = sightings()
    assert repr(output.pattern) == "<pattern sightings of echo=echo, report=report; within(5, 'echo', 'report')>"
    assert shown(output) == (
        "sightings variables echo = echo, report = report where (echo.cell == report.cell)"
        " yields {'ship': report.ship, 'size': echo.size} restrictions within(5, 'echo', 'report')"
    )
    assert Reactive("echo")._repr_html_() is None


def test_an_explanation_prints_as_before_and_is_shown_as_tables():
    engine, _, output = sightings()
    said = engine.explain(bounds=True)
    assert isinstance(said, str)
    assert said.startswith("sightings\n  restrictions  within(5, 'echo', 'report')\n  slot echo      echo: memory")
    text = shown(said)
    for line in said.splitlines():
        assert " ".join(line.split()) in text
    two = Engine(output, zip_(*[Reactive(name) for name in "ab"])).explain()
    assert shown(two).count("partitioning") == len(two.split("\n\n")) == 2


def test_what_has_no_bound_is_marked():
    said = Engine(cartesian(Reactive("a"), Reactive("b"))).explain(bounds=True)
    root = ElementTree.fromstring(f"<html>{html_of(said)}</html>")
    alerts = [one.text for one in root.iter("span") if one.get("class") == "cartesius-alert"]
    assert "a: memory unbounded, no restriction bounds it" in alerts
    engine, _, _ = sightings()
    assert 'cartesius-alert"' not in html_of(engine.explain())


def test_why_prints_a_tree_and_is_shown_with_a_drawing():
    engine, event, _ = sightings(trace=True)
    why = engine.why(event)
    assert why.startswith("sightings {'ship': 'EVA', 'size': 3} @ 10..14\n  echo = ")
    text = shown(why)
    assert " ".join(why.split()) in text
    assert "sightings: EVA, 3 at 10 to 14" in text
    assert "nothing so far" in shown(Engine.why(engine, _pushed(engine, "echo", {"cell": 8, "size": 1})))


def _pushed(engine, name, value):
    engine.push(engine.inputs[name], value)
    return engine.pushed[-1]


def test_copies_of_what_is_shown_are_plain_texts():
    text = HtmlText("a", lambda: "<b>a</b>")
    assert type(copy(text)) is type(pickle.loads(pickle.dumps(text))) is str
    assert {str(text): 1}[text] == 1


def test_paragraphs_are_shown_with_their_headings():
    text = "rules\n  1. depth\n    a <b>\n\nalone"
    assert paragraphs(text) == text
    assert "1. depth\n  a &lt;b&gt;</td>" in paragraphs(text)._repr_html_()
    assert shown(paragraphs(text)) == "rules 1. depth a <b> alone"


@pytest.mark.parametrize("text", HOSTILE)
def test_hostile_text_is_escaped_everywhere(text):
    source = Reactive(text)
    output = correlate(a=source, yields=lambda a: {"x": a.name, text: 1}, restrict=key_by(a="name"), name=f"of {text}")
    engine = Engine(output, trace=True)
    (event,) = engine.push(source, {"name": text, text: text}, at=1)
    values = [
        event,
        engine,
        engine.stats,
        output,
        engine.explain(bounds=True),
        engine.why(event),
        engine.pushed[0].value,
    ]
    for value in (*values, marble_diagram(engine), events_html([event] * 2), rows_html({text: Record({text: text})})):
        expected = " ".join(visible(text).split())
        assert expected in shown(value).replace("\\\\", "\\") or repr(text)[1:-1] in shown(value)


# -- drawings ----------------------------------------------------------------------------------------------------------


def circles(picture):
    return [one for one in ElementTree.fromstring(picture).iter(f"{SVG}circle")]


def links(picture):
    return [one for one in ElementTree.fromstring(picture).iter(f"{SVG}path") if one.get("stroke-dasharray")]


def described(picture):
    return ElementTree.fromstring(picture).findtext(f"{SVG}desc") or ""


def test_a_traced_engine_is_drawn_with_all_that_came_and_all_that_came_of_it():
    engine, _, _ = sightings(trace=True)
    engine.push(engine.inputs["report"], {"ship": "BO", "cell": 8}, at=15)
    picture = marble_diagram(engine, title="What was seen")
    assert described(picture) == "echo: 7, 3 at 14. report: EVA, 7 at 10, BO, 8 at 15. sightings: EVA, 3 at 10 to 14"
    assert len(circles(picture)) == 3
    assert len(links(picture)) == 2
    assert "What was seen" in shown(picture)


def test_inputs_of_which_nothing_came_have_a_lane():
    engine = Engine(zip_(Reactive("left"), Reactive("right")), trace=True)
    assert described(marble_diagram(engine)) == "left: nothing. right: nothing"


def test_of_a_table_the_changes_are_drawn():
    depth = Reactive("depth", table=True)
    engine = Engine(filter_table(depth, lambda metres: metres > 10, restrict=None), trace=True)
    engine.push(depth, Update("A", 12), at=1)
    engine.push(depth, Delete("A"), at=2)
    name = next(iter(engine._program.outputs)).name
    assert described(marble_diagram(engine)) == (
        f"depth: A: 12 at 1, A (deleted) at 2. {name}: A: 12 at 1, A (deleted) at 2"
    )


def test_what_is_taken_back_is_crossed_out():
    alarm, answer = Reactive("alarm", table=True), Reactive("answer", table=True)
    output = correlate(alarm=alarm, answer=answer, yields=lambda alarm: alarm, restrict=retracting(), name="answered")
    engine = Engine(output, trace=True)
    events = [*engine.push(alarm, Update(1, "fire"), at=1), *engine.push(answer, Update(1, "no"), at=2)]
    events += engine.push(alarm, Delete(1), at=3)
    assert described(marble_diagram(engine)).endswith("answered: fire at 1 to 2 (taken back)")
    assert described(marble_diagram(events)) == "answered: fire at 1 to 2, fire at 1 to 2 (taken back)"


def test_a_run_is_drawn_as_the_events_that_it_is_made_of():
    a, b = Reactive("a"), Reactive("b")
    output = correlate(a=a, b=one_or_more(b), yields=lambda a, b: len(b), restrict=in_sequence("a", "b"), name="runs")
    engine = Engine(output, trace=True)
    for time, source in enumerate([a, b, b]):
        engine.push(source, "v", at=time)
    picture = marble_diagram(engine)
    assert described(picture).startswith("a: v at 0. b: v at 1, v at 2. runs: 1 at 0 to 1")
    assert len(circles(picture)) == 3
    assert len(links(picture)) == 2 + 3


def test_lists_of_events_are_drawn_too_and_nothing_else():
    assert described(marble_diagram([Event("x", 1, 2)])) == "events: x at 1 to 2"
    with pytest.raises(InvalidArgument, match=r"expected an engine, or events, but got 3 .*push and advance"):
        marble_diagram([3])  # type: ignore[list-item]  # on purpose
    with pytest.raises(InvalidArgument, match=r"marble_diagram: .*trace=True"):
        marble_diagram(sightings()[0])


def started(restrict, **options):
    start, end, warned = Reactive("started"), Reactive("ended"), Reactive("warned")
    return correlate(start=start, end=end, yields=lambda start: start, restrict=restrict(warned), **options)


def arrows(output):
    said = described(automaton(output)).partition("Arrows: ")[2]
    return {tuple(found) for found in re.findall(r"from (.*?) to (.*?): (.*?)(?:;|$)", said)}


def test_a_sequence_is_a_chain_of_states_and_the_conditions_stand_where_they_can_be_asked():
    output = started(
        lambda warned: key_by(start="ship", end="ship") | in_sequence("start", "end") | within(60, "start", "end"),
        where=lambda start, end: (start.load > 3) & (end.load > start.load),
    )
    assert arrows(output) == {
        ("nothing yet", "start", "start: started, (start.load > 3)"),
        ("start", "match", "end: ended, of the same key, (end.load > start.load), within 60"),
        ("nothing yet", "nothing yet", "any other event"),
        ("start", "start", "any other event"),
    }


def test_in_a_strict_sequence_anything_else_ends_the_match():
    output = started(lambda warned: in_sequence("start", "end", contiguity="strict"))
    assert ("start", "no match", "anything else") in arrows(output)
    assert not any(source == target == "start" for source, target, _ in arrows(output))


def test_what_must_not_come_leads_to_no_match_while_it_matters():
    between = arrows(started(lambda warned: in_sequence("start", "end") | without(warned, between=("start", "end"))))
    assert {(source, said) for source, target, said in between if target == "no match"} == {("start", "warned")}
    assert ("start, end", "match", "when its time has passed") in between
    after = arrows(started(lambda warned: without(warned, after="end", within=9)))
    assert {source for source, target, _ in after if target == "no match"} == {"end", "start, end"}
    assert any("within 9 after end" in said for _, target, said in after if target == "no match")
    before = arrows(started(lambda warned: without(warned, before="start", within=9)))
    assert {source for source, target, _ in before if target == "no match"} == {"start, end"}


def test_free_variables_may_come_in_any_order():
    found = {(source, target) for source, target, _ in arrows(started(lambda warned: within(9, "start", "end")))}
    assert found >= {("nothing yet", "start"), ("nothing yet", "end"), ("start", "match"), ("end", "match")}


def test_a_run_stays_where_it_is_while_it_grows():
    a, b = Reactive("a"), Reactive("b")
    runs = correlate(a=a, b=one_or_more(b), c=a, yields=lambda a: a, restrict=in_sequence("a", "b", "c"))
    assert ("a, b", "a, b", "more of b, any other event") in arrows(runs)


def test_explain_shows_the_automaton_of_a_sequence_alone():
    assert "<svg" in html_of(Engine(started(lambda warned: in_sequence("start", "end"))).explain())
    assert "<svg" not in html_of(Engine(started(lambda warned: within(9, "start", "end"))).explain())


def test_an_automaton_too_large_to_be_looked_at_is_refused_and_a_long_sequence_is_none():
    sources = {f"x{number}": Reactive(f"s{number}") for number in range(9)}
    with pytest.raises(InvalidArgument, match=r"at most 16 states, and 3 above each other, .*in_sequence"):
        automaton(correlate(slots=sources, yields=lambda x0: x0))
    assert described(automaton(correlate(slots=sources, yields=lambda x0: x0, restrict=in_sequence(*sources))))
    with pytest.raises(InvalidArgument, match="an input"):
        automaton(Reactive("x"))


def test_transducers_and_what_runs_them_say_what_they_are():
    level = Reactive("level")
    peaks = correlate(
        one=level,
        two=level,
        where=lambda one, two: one < two,
        yields=lambda two: two,
        restrict=in_sequence("one", "two", contiguity="strict"),
        name="rises",
    )
    tracker = Tracker(peaks)
    assert repr(tracker) == "<tracker of rises; 0 keys>"
    assert repr(tracker.transducer) == "<transducer of one, match, latest end; tags one two>"
    assert repr(tracker.transducer.start()).startswith("<running transducer: one UNDEFINED")
    assert "from one to match: one two" in shown(tracker.transducer)
    assert repr(Matcher()) == "<matcher: 0 and 0 items without an equal>"
    assert repr(Monitor()) == "<monitor: no difference so far; 0 and 0 items without an equal>"


class Shell:
    """As much of IPython as an extension needs."""

    def __init__(self):
        self.display_formatter = self
        self.formatters = {"text/html": self}
        self.known = {}

    def for_type(self, kind, function):
        self.known[kind] = function

    def for_type_by_name(self, module, name, function):
        self.known[module, name] = function


def test_the_extension_shows_lists_of_events_and_rows_of_tables_and_leaves_others_alone():
    load_ipython_extension(shell := Shell())
    assert "tide" in shown(shell.known[list]([Event("tide", 3, 5)]))
    assert shell.known[list]([]) is shell.known[list]([1, Event("x", 1, 1)]) is None
    assert shown(shell.known[dict]({"A": Record({"metres": 12})})) == "key metres A 12"
    assert shell.known[dict]({}) is shell.known[dict]({"a": 1}) is None


def test_the_extension_shows_arrow_tables_and_lists_of_like_records():
    load_ipython_extension(shell := Shell())
    left, right = Reactive("left"), Reactive("right")
    engine = Engine(zip_(left, right))
    times = {"at": list(range(30)), "order": list(range(30))}
    table = engine.push_many(
        {left: {"value": [*range(30)]} | times, right: {"value": [*range(30)]} | times | {"order": [*range(30, 60)]}}
    )
    text = shown(shell.known["pyarrow.lib", "Table"](table))
    assert text.startswith("reactive value start end weight zip_(left, right) {'0': 0, '1': 0} 0 0 1")
    assert text.endswith("10 more rows are left out")
    assert shown(shell.known["pyarrow.lib", "Table"](table[:0])) == "reactive value start end weight"
    assert shown(shell.known[list]([{"a": 1, "b": None}, {"a": 2, "b": "x"}])) == "a b 1 null 2 x"
    assert shell.known[list]([{"a": 1}, {"b": 1}]) is shell.known[list]([{"a": 1}, 2]) is None


@pytest.mark.parametrize("source", [None, 3])
def test_what_is_neither_an_engine_nor_events_is_refused(source):
    with pytest.raises(InvalidArgument, match="marble_diagram: expected an engine, or events, but got"):
        marble_diagram(source)


class Mute:
    """Takes no part in being shown."""

    def __repr__(self):
        raise LookupError


def nested(depth):
    value: Any = []
    for _ in range(depth):
        value = [value]
    return value


RING: list[Any] = []
RING.append(RING)


ODD = {
    "long": 10**5000,
    "mute": Mute(),
    "ring": RING,
    "deep": nested(5000),
    "field": {"a": Mute()},
    "pair": (Mute(), 1),
}


@pytest.mark.parametrize("name", ODD)
@pytest.mark.parametrize("at", [1, datetime(2024, 5, 1, tzinfo=UTC)])
def test_an_engine_that_records_takes_and_shows_what_any_engine_takes(name, at):
    value = ODD[name]
    left, right = Reactive("left"), Reactive("right")
    both = cartesian(left, right)
    engine, plain = Engine(both, trace=True), Engine(both)
    for one in (engine, plain):
        assert one.push(left, value, at=at) == []
    (event,) = engine.push(right, value, at=at)
    assert len(plain.push(right, value, at=at)) == 1
    for text in (engine.why(event), engine.why(engine.pushed[0]), marble_diagram(engine)):
        shown(text)
    shown(events_html([event]))
    answers = Answers([recording_of(engine, "test")], 0, "test")
    assert answers.open({"run": 0})["steps"] == 2
    json.dumps([answers.step({"run": 0, "step": step}) for step in range(3)])


def test_a_failure_is_told_as_it_is_whatever_was_pushed():
    left, right = Reactive("left"), Reactive("right")
    engine = Engine(correlate(a=left, b=right, yields=lambda a, b: 1 // 0))
    engine.push(left, Mute())
    with pytest.raises(ZeroDivisionError) as raised:
        engine.push(right, Mute())
    assert any("<Mute without a text: LookupError>" in note for note in raised.value.__notes__)


class Silent(LookupError):
    """Has no text."""

    def __str__(self):
        raise LookupError


def test_an_error_without_a_text_is_told():
    left, right, failing = Reactive("left"), Reactive("right"), []

    def body(a, b):
        if failing:
            raise Silent
        return a, b

    engine = Engine(correlate(a=left, b=right, yields=body), trace=True)
    for reactive in (left, right):
        engine.push(reactive, 1)
    answers = Answers([recording_of(engine, "test")], 0, "test")
    failing.append(True)
    assert "Silent: <Silent without a text: LookupError>" in answers.open({"run": 0})["failure"]
    assert told(Silent()) == "Silent: <Silent without a text: LookupError>"


def test_the_page_shows_keys_that_have_no_text():
    left, right = Reactive("left"), Reactive("right")
    engine = Engine(cartesian(left, right, restrict=key_by(left="k", right="k")), trace=True)
    engine.push(left, {"k": Mute()})
    found = Answers([recording_of(engine, "test")], 0, "test").step({"run": 0, "step": 1})
    assert "<Mute without a text: LookupError>" in json.dumps(found)


def test_of_a_long_value_the_beginning_is_shown():
    assert label_of(list(range(20_000))).endswith(" 51, 52…")
    assert label_of("x" * 300) == "x" * 200 + "…"
    assert label_of([""] * 20_000) == ", " * 100 + "…"
    assert label_of([""] * 101) == ", " * 100
    looked = []

    class Number(int):
        def __str__(self):
            looked.append(self)
            return "7"

    numbers = [Number(n) for n in range(20_000)]
    for long in ([{"a": one} for one in numbers], Update(numbers, 1), Delete(numbers), Update(1, numbers)):
        looked.clear()
        assert len(label_of(long)) == 201
        assert len(looked) < 210


class Counted(list[Any]):
    """Counts how many of its items are looked at."""

    looked = 0

    def __iter__(self):
        for one in super().__iter__():
            self.looked += 1
            yield one


def test_a_list_is_looked_at_until_it_is_known_to_be_none_of_rows():
    load_ipython_extension(shell := Shell())
    for value in (Counted(range(1000)), Counted([{"a": 1}] + [7] * 1000)):
        assert shell.known[list](value) is None
        assert value.looked < 5


class Name(str):
    """A text of a class of its own."""


def test_names_of_fields_may_be_of_a_class_of_their_own():
    load_ipython_extension(shell := Shell())
    assert shown(shell.known[list]([{Name("a"): 1}, {"a": 2}])) == "a 1 2"


@pytest.mark.parametrize(
    "value",
    [
        [{1: 2}, {1: 3}],
        [{(1, 2): 2}, {(1, 2): 3}],
        [{1: "x", "b": 1}, {True: "y", "b": 2}],
        [{Mute(): 1}, {Mute(): 2}],
        [{}, {}],
        [{"a": 1}, {"b": 1}],
        [{"a": 1}, [1]],
        [{"a": 1}],
        [],
        {},
        {1: 2},
    ],
)
def test_lists_that_are_no_rows_are_shown_as_they_were(value):
    load_ipython_extension(shell := Shell())
    assert shell.known[type(value)](value) is None


def test_columns_of_one_name_have_their_own_values():
    pa = pytest.importorskip("pyarrow")
    load_ipython_extension(shell := Shell())
    arrow = shell.known["pyarrow.lib", "Table"]
    assert shown(arrow(pa.table([[1, 3], [2, 4]], names=["a", "a"]))) == "a a 1 2 3 4"
    assert "left out" not in shown(arrow(pa.table({})))


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"title": 5}, "expected a text and a function but got title=5"),
        ({"show_time": "%H"}, "a function but .* show_time='%H'"),
        ({"show_time": lambda time: time}, "expected a text of show_time but got 10; write show_time=str"),
    ],
)
def test_a_marble_diagram_says_what_it_takes(options, message):
    engine, _, _ = sightings(trace=True)
    with pytest.raises(InvalidArgument, match=message):
        marble_diagram(engine, **options)


def boxes_of(picture):
    """Return what is written, and where: left, right, top and bottom."""
    found = []
    for one in ElementTree.fromstring(picture).iter(f"{SVG}text"):
        x, y, half = float(one.get("x", "")), float(one.get("y", "")), width_of(one.text or "") / 2
        found.append((x - half, x + half, y - 10, y + 2))
    return found


def lines_of(picture):
    """Return the straight parts of the arrows that slant, as pairs of points."""
    for one in ElementTree.fromstring(picture).iter(f"{SVG}path"):
        if slanted := re.fullmatch(r"M\S+ (\S+)H(\S+)L(\S+) (\S+)H\S+", one.get("d", "")):
            y, x, to_x, to_y = map(float, slanted.groups())
            yield (x, y), (to_x, to_y)


A, B, C, D = map(Reactive, "abcd")
IN_ANY_ORDER = {
    "three": ({"a": A, "b": B, "c": C}, None, None),
    "one more": ({"a": A, "b": B, "c": C}, in_sequence("a", "b"), None),
    "a sequence, and one": ({"a": A, "b": B, "c": C, "d": D}, in_sequence("a", "b", "c") | within(50, "a", "d"), None),
    "two sequences": ({"a": A, "b": B, "c": C, "d": D}, in_sequence("a", "b") | in_sequence("c", "d"), None),
    "conditions": (
        {"a": A, "b": B, "c": C},
        in_sequence("a", "b") | within(5, "a", "b", "c"),
        lambda a, b, c: (a.x == b.x) & (a.y > c.y),
    ),
    "absence": ({"a": A, "b": B}, within(5, "a", "b") | without(C, after="b", within=5), None),
    "missing": ({"a": A, "b": B}, optionally("a", "b") | retracting() | key_by(a="k", b="k"), None),
}


@pytest.mark.parametrize("name", IN_ANY_ORDER)
def test_where_arrows_cross_labels_can_be_read(name):
    slots, restrict, where = IN_ANY_ORDER[name]
    picture = automaton(correlate(slots=slots, where=where, yields=lambda a: a, restrict=restrict))
    boxes, lines = boxes_of(picture), list(lines_of(picture))
    assert lines
    for one, other in combinations(boxes, 2):
        assert one[0] >= other[1] or other[0] >= one[1] or one[2] >= other[3] or other[2] >= one[3]
    for left, right, top, bottom in boxes:
        for (x, y), (to_x, to_y) in lines:
            points = [(x + n / 200 * (to_x - x), y + n / 200 * (to_y - y)) for n in range(201)]
            assert not any(left < at_x < right and top < at_y < bottom for at_x, at_y in points)


def test_four_in_any_order_are_refused():
    with pytest.raises(InvalidArgument, match="3 above each other"):
        automaton(correlate(a=A, b=B, c=C, d=D, yields=lambda a: a))


def test_a_match_without_an_optional_part_is_reached():
    one = correlate(a=A, b=B, yields=lambda a: a, restrict=optionally("b") | within(5, "a", "b"))
    told = described(automaton(one))
    assert "Final: match, match without b." in told
    assert "from a to match without b: no b" in told
    assert "from b to match without" not in told
    both = correlate(a=A, b=B, yields=lambda a: a, restrict=optionally("a", "b") | retracting())
    assert described(automaton(both)).count("to match without") == 2


def test_what_is_in_one_window_is_not_said_to_have_a_key():
    windows = automaton(correlate(a=A, b=B, yields=lambda a: a, restrict=tumbling(5)))
    assert "of the same window" in windows
    assert "of the same key" not in windows
    both = automaton(correlate(a=A, b=B, yields=lambda a: a, restrict=tumbling(5) | key_by(a="k", b="k")))
    assert "of the same window" in both
    assert "of the same key" in both


def test_what_must_not_come_is_of_the_same_key_and_window():
    absent = without(C, after="a", within=5)
    of_keys = arrows(correlate(a=A, b=B, yields=lambda a: a, restrict=absent | key_by(a="k", b="k", c="k")))
    assert [said for _, target, said in of_keys if target == "no match"]
    assert all("c, of the same key" in said for _, target, said in of_keys if target == "no match")
