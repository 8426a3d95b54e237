"""Elements are well-formed whatever goes in, and say what went in."""

from xml.etree import ElementTree

import pytest

from cartesius.drawing.markup import element, picture, shortened, text_of, visible, width_of

HOSTILE = [
    "<script>alert(1)</script>",
    "]]>&lt;!--",
    "[/RED]",
    "\x00\x07\x1b[31m\x7f\x85",
    "\u202egnp.exe",
    "\ud800",
    "\ufffe",
    "' onload='x' \"",
]


@pytest.mark.parametrize("text", HOSTILE)
def test_hostile_text_stays_text_in_content_and_in_attributes(text):
    found = ElementTree.fromstring(text_of(element("td", text, element("b"), text, title=text)))
    assert found.tag == "td"
    assert len(found) == 1
    assert found.text == found[0].tail == found.get("title") == visible(text)


@pytest.mark.parametrize("text", HOSTILE)
def test_what_becomes_visible_can_be_written_and_is_not_changed_again(text):
    visible(text).encode("utf-8")
    assert visible(visible(text)) == visible(text)


def test_lines_and_tabs_and_other_scripts_stay_as_they_are():
    assert visible("a\n\tb 東京 ⚓ é") == "a\n\tb 東京 ⚓ é"


def test_a_picture_has_a_name_a_description_and_no_ids():
    root = ElementTree.fromstring(picture(10, 20, "A < B", "Of & for", element("g")))
    name, description, _ = root
    assert (name.text, description.text, root.get("role")) == ("A < B", "Of & for", "img")
    assert not any("id" in one.attrib for one in root.iter())


def test_a_shortened_text_is_no_wider_than_asked_and_says_that_it_goes_on():
    for text in ("a long story of a ship", "東京東京東京東京東京"):
        for width in range(200):
            short = shortened(text, width)
            assert width_of(short) <= width
            assert short in ("", text) or text.startswith(short.removesuffix("…").rstrip())


def test_what_is_shortened_is_looked_at_as_far_as_it_is_shown():
    class Endless(str):
        """A text that cannot be walked through."""

        __slots__ = ()

        def __iter__(self):
            raise AssertionError

    assert shortened(Endless("x" * 10**6), 50) == "xxxxxx…"
    assert shortened("\x1b" * 10**6, 68) == r"\x1b\x1b\…"
    assert shortened("e\u0301" * 10, 20 * 6.8) == "e\u0301" * 10


def test_no_text_turns_the_order_of_its_surroundings():
    marks = "\u061c\u200e\u200f\u202a\u202b\u202c\u202d\u202e\u2066\u2067\u2068\u2069"
    assert visible(marks) == "".join(f"\\u{ord(mark):04x}" for mark in marks)
