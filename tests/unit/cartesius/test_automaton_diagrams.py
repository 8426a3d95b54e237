"""Automata: every state and arrow is drawn, states without overlap."""

from itertools import combinations
from xml.etree import ElementTree

import pytest

from cartesius.drawing.automaton_diagrams import Arrow, State, automaton_svg
from cartesius.drawing.markup import visible

SVG = "{http://www.w3.org/2000/svg}"
STATES = [State("n", "nothing"), State("s", "start"), State("m", "match", is_final=True), State("x", "over")]
ARROWS = [
    Arrow("", "n"),
    Arrow("n", "s", "start"),
    Arrow("s", "s", "else"),
    Arrow("s", "m", "end\nwithin 10"),
    Arrow("s", "m", "end, at once"),
    Arrow("s", "x", "warned", is_dashed=True),
    Arrow("m", "n", "again"),
]


def parsed(states=STATES, arrows=ARROWS, **options):
    return ElementTree.fromstring(automaton_svg(states, arrows, **options))


def boxes(root):
    return [[float(one.get(name)) for name in ("x", "y", "width", "height")] for one in root.iter(f"{SVG}rect")]


def texts(root):
    return ["".join(one.itertext()) for one in root.iter(f"{SVG}text")]


def test_every_state_and_every_label_is_written():
    assert {"nothing", "start", "match", "over", "else", "end", "within 10", "end, at once", "warned"} <= set(
        texts(parsed())
    )


def test_states_stand_from_left_to_right_by_distance_and_do_not_overlap():
    found = boxes(parsed([*STATES[:2], State("m"), State("x")]))
    (n, s, m, x) = found
    assert n[0] < s[0] < m[0]
    assert n[1] == s[1] == m[1] < x[1]
    for (ax, ay, aw, ah), (bx, by, bw, bh) in combinations(found, 2):
        assert ax + aw < bx or bx + bw < ax or ay + ah < by or by + bh < ay


def test_a_final_state_has_a_double_border():
    assert len(boxes(parsed())) == len(STATES) + 1


def test_arrows_between_the_same_states_are_one_line_with_a_head_each():
    paths = list(parsed().iter(f"{SVG}path"))
    pairs = {(one.source, one.target) for one in ARROWS}
    assert len([one for one in paths if one.get("d").endswith("Z")]) == len(pairs)
    assert len([one for one in paths if one.get("stroke-dasharray")]) == 1


def test_no_line_is_drawn_over_a_state_or_a_label_and_none_shows_through():
    tags = [one.tag.removeprefix(SVG) for one in parsed().iter()]
    last = max(place for place, tag in enumerate(tags) if tag == "path")
    assert tags.index("rect") > last
    assert tags.index("text") > last
    (halo,) = [one for one in parsed().iter(f"{SVG}g") if one.get("paint-order") == "stroke"]
    assert {"start", "else", "within 10"} <= set(texts(halo))
    assert halo.get("stroke") in {one.get("fill") for one in parsed().iter(f"{SVG}rect")}


def test_all_is_within_the_picture():
    long = "a condition that is much longer than any box: " * 5
    root = parsed([*STATES, State("far", long)], [*ARROWS, Arrow("x", "far", long), Arrow("far", "far", long)])
    width, height = float(root.get("width")), float(root.get("height"))
    for x, y, w, h in boxes(root):
        assert x > 0
        assert y > 0
        assert x + w < width
        assert y + h < height
    for one in root.iter(f"{SVG}text"):
        half = 6.8 * len(one.text or "") / 2
        assert float(one.get("x")) - half > 0
        assert float(one.get("x")) + half < width
        assert 0 < float(one.get("y")) < height


def test_it_is_told_in_words():
    name, told = parsed(title="A start, then an end")[:2]
    assert name.text == "A start, then an end"
    assert "Final: match." in told.text
    assert "from start to match: end, within 10, end, at once" in told.text


def test_states_that_nothing_leads_to_are_drawn_too():
    assert {"a", "lost"} <= set(texts(parsed([State("a"), State("lost")], [])))


@pytest.mark.parametrize("text", ["<script>alert(1)</script>", "[/RED]", "\x1b[31m\x00", "\u202e"])
def test_hostile_text_stays_text(text):
    root = parsed([State("a", text), State("b", text)], [Arrow("a", "b", text)], title=text)
    assert root[0].text == visible(text)
    assert texts(root).count(visible(text)) == 3
    assert {one.tag.removeprefix(SVG) for one in root.iter()} <= {"svg", "title", "desc", "g", "rect", "path", "text"}
