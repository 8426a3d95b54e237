r"""Elements of HTML and SVG. All text and all attributes are escaped, as the standard library writes them.

Invariant: what comes out is well-formed, whatever went in: characters that markup cannot hold, or that would turn the
order of what stands around them, are written as Python would (``\x1b``, ``\u202e``).
"""

from __future__ import annotations

import re
import unicodedata
from bisect import bisect_right
from itertools import accumulate
from typing import TYPE_CHECKING, Any, TypeAlias

if TYPE_CHECKING:
    from xml.etree.ElementTree import Element

    Child: TypeAlias = "Element | str"

_WIDTH = 6.8  # of a letter of 12 pixels
_UNFIT = re.compile(
    "[\x00-\x08\x0b-\x1f\x7f-\x9f\u061c\u200e\u200f\u202a-\u202e\u2066-\u2069\ud800-\udfff\ufffe\uffff]"
)


def visible(text: str) -> str:
    r"""Return a text with the characters that no markup may hold, or that reorder it, as escapes.

    >>> visible("a\x1b[31m")
    'a\\x1b[31m'
    """
    return _UNFIT.sub(lambda found: found[0].encode("unicode_escape").decode(), text)


def all_visible(data: Any) -> Any:
    r"""Return data for JSON with all its texts `visible`.

    >>> all_visible({"a": ["\x1b", 7]})
    {'a': ['\\x1b', 7]}
    """
    if isinstance(data, dict):
        return {name: all_visible(one) for name, one in data.items()}
    if isinstance(data, list):
        return list(map(all_visible, data))
    return visible(data) if isinstance(data, str) else data


def element(tag: str, *children: Child, **attributes: object) -> Element:
    """Return an element; in names of attributes ``_`` stands for ``-``, and a last one for nothing (``class_``).

    >>> text_of(element("td", "a < b", class_="x"))
    '<td class="x">a &lt; b</td>'
    """
    from xml.etree.ElementTree import Element  # noqa: PLC0415 - who imports cartesius need not pay for it

    made = Element(tag, {name.rstrip("_").replace("_", "-"): _attribute(value) for name, value in attributes.items()})
    last: Element | None = None
    for child in children:
        if not isinstance(child, str):
            made.append(child)
            last = child
        elif last is None:
            made.text = (made.text or "") + visible(child)
        else:
            last.tail = (last.tail or "") + visible(child)
    return made


def _attribute(value: object) -> str:
    return f"{value:.6g}" if isinstance(value, float) else visible(str(value))


def text_of(root: Element) -> str:
    """Return the text of an element and of all in it: HTML, in which SVG may stand, and XML as well."""
    from xml.etree.ElementTree import tostring  # noqa: PLC0415 - as above

    return tostring(root, encoding="unicode", short_empty_elements=False)


def picture(width: float, height: float, title: str, description: str, *children: Element) -> str:
    """Return the text of an SVG with a name and a description for who cannot see it."""
    root = element(
        "svg",
        element("title", title),
        element("desc", description),
        *children,
        xmlns="http://www.w3.org/2000/svg",
        viewBox=f"0 0 {width:.0f} {height:.0f}",
        width=f"{width:.0f}",
        height=f"{height:.0f}",
        role="img",
        style="color:var(--cartesius-ink,currentColor);font:12px system-ui,sans-serif",
        fill="currentColor",
    )
    return text_of(root)


def width_of(text: str) -> float:
    """Return about how wide a text of 12 pixels is, in pixels."""
    return _WIDTH * sum(map(_columns, text))


def _columns(sign: str) -> int:
    return 2 if unicodedata.east_asian_width(sign) in "WF" else 1


def shortened(text: str, width: float) -> str:
    """Return a text that is no wider than so many pixels: the whole, a beginning with `…`, or nothing.

    >>> shortened("a long story", 50)
    'a long…'
    """
    text = visible(text[: int(width / _WIDTH) + 2])  # no more has room, however long it is
    if width_of(text) <= width:
        return text
    text = text[: bisect_right([*accumulate(map(_columns, text))], width, key=lambda columns: _WIDTH * (columns + 1))]
    return f"{text.rstrip()}…" if len(text) > 1 else ""
