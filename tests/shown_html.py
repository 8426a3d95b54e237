"""What a notebook shows of a value, checked to be well-formed and harmless, and as text."""

from __future__ import annotations

from html.parser import HTMLParser
from typing import Any
from xml.etree import ElementTree

HOSTILE = ["<script>alert(1)</script>", "[/RED]", "\x1b[31m\x00\x07", "\u202egnp", "&amp;", "' onerror='x'"]
"""Texts that must stay text."""
SVG = "{http://www.w3.org/2000/svg}"
TAGS = {"html", "div", "style", "table", "caption", "thead", "tbody", "tr", "th", "td", "span", "p", "b", "pre"} | {
    SVG + tag for tag in ("svg", "title", "desc", "g", "circle", "rect", "path", "text")
}


def shown(value: Any) -> str:
    """Parse what a notebook shows of a value, check that it is harmless, and return its text without styles."""
    html = value if type(value) is str else value._repr_html_()
    HTMLParser().feed(html)
    root = ElementTree.fromstring(f"<html>{html}</html>")
    assert {one.tag for one in root.iter()} <= TAGS
    attributes = [(name, text) for one in root.iter() for name, text in one.attrib.items()]
    assert not any(name == "id" or name.startswith("on") or "javascript" in text for name, text in attributes)
    for one in root.iter("style"):
        assert all(rule.strip().startswith(".cartesius") for rule in (one.text or "").split("}") if rule.strip())
        one.text = ""
    return " ".join(" ".join(root.itertext()).split())
