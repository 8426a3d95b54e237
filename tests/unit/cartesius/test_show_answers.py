"""What the page asks: plain data that JSON holds, whatever the program; a long trace is quick to step through."""

from __future__ import annotations

import json
import time

import pytest

from cartesius import Engine, Reactive, correlate
from cartesius.errors import InvalidArgument
from cartesius.show import replays, show_answers
from cartesius.show.marble_lanes import WIDTH
from cartesius.show.recordings import recording_of
from cartesius.show.show_answers import MOST_ENTRIES, Answers
from restrictions import affinely, as_table, cartesian, key_by, most_recently
from tests.unit.cartesius.show_programs import PROGRAMS

order, stock = Reactive("order"), Reactive("stock")
GOODS = correlate(
    o=order,
    s=stock,
    where=lambda o, s: s.shelf <= 9,
    yields=lambda o, s: (o.item, o.by, s.shelf),
    restrict=key_by(o="item", s="item") | affinely("o") | most_recently("s"),
    name="goods",
)


def answers_of(*engines):
    return Answers([recording_of(engine, "test") for engine in engines], 0, "test")


def goods():
    engine = Engine(GOODS, trace=True)
    engine.push(stock, {"item": "tea", "shelf": 12}, at=1)
    engine.push(order, {"item": "tea", "by": "Ann"}, at=2)
    engine.push(stock, {"item": "tea", "shelf": 3}, at=3)
    engine.push(order, {"item": "cup", "by": "Bob"}, at=4)
    return engine


def test_a_step_has_what_came_what_was_given_of_what_and_what_left_and_why():
    answers = answers_of(goods())
    opened = answers.open({"run": 0})
    assert (opened["title"], opened["steps"], opened["counts"]) == ("goods", 4, None)
    assert [(one["text"], one["on"]) for one in opened["switches"]] == [
        ("key_by(o='item', s='item')", True),
        ("affinely('o')", True),
        ("most_recently('s')", True),
    ]
    assert all(one["said"] and "Never suspends" not in one["said"] for one in opened["switches"])
    step = answers.step({"run": 0, "step": 3})
    assert step["call"] == "stock Record({'item': 'tea', 'shelf': 3}) comes, at 3."
    (result,) = step["given"]
    assert result["text"] == "goods ('tea', 'Ann', 3) @ 2..3"
    assert [(part["slot"], part["text"]) for part in result["parts"]] == [
        ("o", "order Record({'item': 'tea', 'by': 'Ann'}) @ 2"),
        ("s", "stock Record({'item': 'tea', 'shelf': 3}) @ 3"),
    ]
    assert sorted((one["place"], one["why"]) for one in step["left"]) == [
        ("in the memory of o", "used up"),
        ("in the memory of s", "displaced by most_recently('s')"),
    ]
    assert step["nothing"] == []


def test_of_what_gave_nothing_the_reason_is_said():
    answers = answers_of(goods())
    assert [answers.step({"run": 0, "step": step})["nothing"] for step in (1, 2, 4)] == [
        ["is in the memory of s", "in goods there is nothing in the memory of o to meet"],
        ["is in the memory of o", "in goods none of the 1 in the memory of s goes with it"],
        ["is in the memory of o", "in goods none of the 1 in the memory of s goes with it"],
    ]
    pushed = answers.step({"run": 0, "step": 1})["pushed"]["id"]
    assert "left" not in answers.why({"run": 0, "step": 1, "id": pushed})["text"]
    assert "left s: displaced by most_recently('s')" in answers.why({"run": 0, "step": 4, "id": pushed})["text"]


def test_without_a_restriction_what_differs_is_said_at_its_step():
    engine = Engine(cartesian(order, stock, restrict=affinely("stock")), trace=True)
    for reactive, value in [(order, 1), (stock, "x"), (order, 2)]:
        engine.push(reactive, value)
    answers = answers_of(engine)
    opened = answers.open({"run": 0, "off": [0]})
    assert opened["counts"] == {"new": 1, "gone": 0, "moved": 0}
    assert opened["switches"][0]["on"] is False
    (one,) = opened["differences"]
    assert (one["kind"], one["step"]) == ("new", 3)
    assert one["reasons"] == ["order 2 @ 3 is in the memory of order", "stock 'x' @ 2 left stock: used up"]
    step = answers.step({"run": 0, "step": 3, "off": [0]})
    assert [(result["kind"], result["id"][0]) for result in step["given"]] == [("new", "c")]
    assert answers.step({"run": 0, "step": 3})["given"] == []
    assert "as written" in step["svg"]


def test_what_cannot_be_left_out_says_why_and_the_program_is_shown_as_written():
    table = correlate(x=order, yields=lambda x: x, restrict=key_by(x="k") | most_recently("x") | as_table("x"))
    engine = Engine(table, trace=True)
    engine.push(order, {"k": 1})
    opened = answers_of(engine).open({"run": 0, "off": [0]})
    assert "expected a slot with a key" in opened["refusal"]
    assert (opened["steps"], opened["counts"], opened["differences"]) == (1, None, [])


@pytest.mark.parametrize("name", sorted(PROGRAMS))
def test_all_of_it_is_plain_data_with_any_restriction_left_out(name):
    a, b = Reactive("a"), Reactive("b")
    engine = Engine(PROGRAMS[name](a, b), lateness=0, trace=True)
    for n in range(6):
        engine.push((a, b)[n % 2], {"k": n % 2, "n": n}, at=n)
    engine.close()
    answers = answers_of(engine)
    n_switches = len(answers.open({"run": 0})["switches"])
    for off in ([], *([number] for number in range(n_switches))):
        opened = json.loads(json.dumps(answers.open({"run": 0, "off": off})))
        for step in range(opened["steps"] + 1):
            found = json.loads(json.dumps(answers.step({"run": 0, "off": off, "step": step})))
            assert found["step"] == step
            for one in [*found["given"], *found["marbles"], *found["gone"]]:
                assert answers.why({"run": 0, "off": off, "step": step, "id": one["id"]})["text"].startswith(
                    one["text"].split(" @ ")[0]
                )


@pytest.mark.parametrize(
    ("draft", "message"),
    [
        ({}, "expected the number of a run, below 1, but got None"),
        ({"run": 1}, "below 1, but got 1"),
        ({"run": "0"}, "but got '0'"),
        ({"run": 0, "off": "x"}, "expected the numbers of restrictions"),
        ({"run": 0, "off": [None]}, "expected the numbers of restrictions"),
        ({"run": 0, "id": "w99"}, "expected the id of an event that was shown but got 'w99'"),
        ({"run": 0, "id": "<b>"}, "expected the id"),
        ({"run": 0}, "expected the id"),
    ],
)
def test_what_makes_no_sense_is_refused(draft, message):
    with pytest.raises(InvalidArgument, match=message):
        answers_of(goods()).why(draft)


def test_a_step_beyond_the_trace_is_the_last():
    assert [answers_of(goods()).step({"run": 0, "step": step})["step"] for step in (-3, 99)] == [0, 4]


def test_a_long_trace_is_made_once_and_a_step_of_it_is_short(monkeypatch):
    """The bound: of a place so many events are listed, of the lanes so many steps; the rest is counted."""
    made = []
    replay = replays.Replay
    monkeypatch.setattr(show_answers, "Replay", lambda *given: made.append(1) or replay(*given))
    a, b = Reactive("a"), Reactive("b")
    engine = Engine(cartesian(a, b, restrict=key_by(a="n", b="n")), trace=True)
    for n in range(1000):
        engine.push((a, b)[n % 2], {"n": n})
    answers = answers_of(engine)
    answers.open({"run": 0})
    begun = time.process_time()
    steps = [answers.step({"run": 0, "step": step}) for step in range(0, 1000, 50)]
    assert (time.process_time() - begun) / len(steps) < 0.1
    assert len(made) == 1
    assert max(len(json.dumps(step)) for step in steps) < 60_000
    (place,) = steps[-1]["correlations"][0]["slots"][0]["places"]
    assert (place["count"], len(place["events"])) == (475, MOST_ENTRIES)
    assert all(len(step["marbles"]) == WIDTH for step in steps)


def test_a_program_that_fails_when_it_is_made_again_says_at_which_call():
    files = {"prices": 7}
    engine = Engine(
        correlate(o=order, s=stock, yields=lambda o, s: files["prices" if o else ""], restrict=affinely("o")),
        trace=True,
    )
    for reactive in (order, stock, stock, order):
        engine.push(reactive, 1)
    files.clear()
    answers = answers_of(engine)
    opened = answers.open({"run": 0})
    assert (opened["steps"], opened["calls"]) == (1, 4)
    failure = "Made again, call 2 of 4 fails, so the steps end before it: KeyError: 'prices'"
    assert opened["failure"].startswith(failure)
    assert answers.open({"run": 0, "off": [0]})["failure"].startswith("Without what is left out, call 2 of 4 fails")
    assert f"\n{failure}" in answers.open({"run": 0, "off": [0]})["failure"]


def test_no_text_of_an_answer_turns_the_order_of_the_page():
    name = "\u202eevil\u2066\x1b"
    odd = Reactive(name)
    engine = Engine(correlate(slots={"x": odd}, yields=lambda x: {name: x}, name=name), trace=True)
    engine.push(odd, name)
    asked = answers_of(engine).questions
    answers = [asked[question]({"run": 0, "step": 1}) for question in ("runs", "open", "step")]
    answers.append(asked["why"]({"run": 0, "id": answers[-1]["given"][0]["id"], "step": 1}))
    for answer in answers:
        text = json.dumps(answer, ensure_ascii=False)
        assert "evil" in text
        assert not {"\u202e", "\u2066", "\x1b"} & set(text)


def test_reasons_of_long_values_are_shortened():
    engine = goods()
    engine.push(order, {"item": "cup", "by": "x" * 100_000}, at=5)
    engine.push(stock, {"item": "cup", "shelf": 2}, at=6)
    for off in ([], [0], [1], [2]):
        assert len(json.dumps(answers_of(engine).open({"run": 0, "off": off}))) < 20_000
