"""Edits of a text of rules: lines in, lines out; what is not edited stays as it is, letter by letter.

Each edit returns a new text and changes nothing else; whoever made it reads the new text, and keeps the old one if
that is refused. Comments right above a sentence belong to it and move with it, and so do those right below it that are
indented deeper.

Invariant: an `otherwise` stays below its own `when`, as what stands above it says what it means.

Source: issue 6, "Rules as text".
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from dsl.refusals.errors import InvalidRule, refusal
from dsl.refusals.quoting import free
from dsl.text.parsing import tokens

if TYPE_CHECKING:
    from collections.abc import Mapping

    from dsl.editor.outline import Item, Outline

LABELS: Final = ("name", "because", "severity", "reference")


def replaced(outline: Outline, number: int, head: str, properties: Mapping[str, str]) -> str:
    """Return the text with the item ``number`` written anew: of a block its head alone.

    Remarks between its lines then stand below the first.

    Args:
        outline: The text.
        number: Which item.
        head: The sentence with its conditions, or a block's conditions and a colon.
        properties: Name, because, severity and reference, as far as they are said.

    Raises:
        InvalidRule: There is no such item, or ``head`` has more than one line.
    """
    item, lines = _item(outline, number), outline.page.lines
    is_block = item.node.data == "guarded" and item.node.children[-1].data == "block"
    end = item.first + 1 if is_block else item.end
    margin = _margin(lines[item.first])
    kept = [line for line in lines[item.first + 1 : end] if _is_comment(line)]
    after = max((token.end_column or 0 for token in tokens(item.node) if token.line == item.first + 1), default=1)
    _, sign, remark = lines[item.first][after - 1 :].partition("#")  # between are `)` and `:`, which are no tokens here
    said, *written = _written(margin, head, properties)
    return "\n".join([*lines[: item.first], f"{said}   #{remark}" if sign else said, *kept, *written, *lines[end:]])


def added(outline: Outline, after: int | None, head: str, properties: Mapping[str, str]) -> str:
    """Return the text with a new sentence: below the item ``after``, and its `otherwise`; None: at the end.

    Raises:
        InvalidRule: There is no such item, or ``head`` has more than one line.
    """
    lines = outline.page.lines
    if after is None:
        body = "\n".join(lines).rstrip("\n")
        return "\n".join([body, "", *_written("", head, properties), ""])
    item = _item(outline, after)
    written = _written(_margin(lines[item.first]), head, properties)
    apart = [""] if not item.depth else []
    end = _end(outline, item)
    return "\n".join([*lines[:end], *apart, *written, *lines[end:]])


def deleted(outline: Outline, number: int) -> str:
    """Return the text without the item ``number`` and what belongs to it. A block that is left empty says so.

    Raises:
        InvalidRule: There is no such item, or an `otherwise` below it needs it.
    """
    item, lines = _item(outline, number), list(outline.page.lines)
    if len(_unit(outline, item)) > 1:
        fix = [("fix", "delete that first")]
        got = "it has one, which would belong to another condition"
        raise InvalidRule(refusal(f"delete: expected a rule without an `otherwise` but {got}", fix, place=""))
    first = _with_comments(lines, item.first)
    siblings = [each for each in outline.items if each.parent == item.parent]
    if item.parent is not None and len(siblings) == 1:
        block = outline.items[item.parent]
        head, guards = block.first, block.node.children[:-1]
        colon = lines[head].index(":", max(token.end_column or 0 for guard in guards for token in tokens(guard)) - 1)
        lines[head] = f"{lines[head][:colon]}: nothing{lines[head][colon + 1 :]}"
    end = _end(outline, item)
    blank = end < len(lines) and not lines[end].strip() and first > 0 and not lines[first - 1].strip()
    return "\n".join([*lines[:first], *lines[end + int(blank) :]])


def moved(outline: Outline, number: int, down: bool) -> str:
    """Return the text with the item ``number`` moved before, or after, its neighbour on the same level.

    An `otherwise` goes with its `when`, of either.

    Raises:
        InvalidRule: There is no such item, or no neighbour there, or it is an `otherwise`.
    """
    item, lines = _item(outline, number), outline.page.lines
    if _is_otherwise(item):
        fix = [("fix", "move that")]
        raise InvalidRule(
            refusal("move: expected a rule but got an `otherwise`, which goes with its `when`", fix, place="")
        )
    neighbour = _neighbour(outline, item, down)
    if neighbour is None:
        fix = [("fix", "move it the other way")]
        where = "last" if down else "first"
        raise InvalidRule(refusal(f"move: expected a neighbour but the rule is the {where}", fix, place=""))
    above, below = sorted((item, neighbour), key=lambda each: each.first)
    first, second = _with_comments(lines, above.first), _with_comments(lines, below.first)
    until, end = _end(outline, above), _end(outline, below)
    whole = [lines[second:end], lines[until:second], lines[first:until]]
    return "\n".join([*lines[:first], *(line for part in whole for line in part), *lines[end:]])


def number_after(outline: Outline, way: str, number: int | None) -> int:
    """Return the number that an edit's item has in the new text; of one that is deleted, that of what followed it.

    Args:
        outline: The text before the edit.
        way: ``"replace"``, ``"add"``, ``"delete"``, ``"up"`` or ``"down"``, which is possible there.
        number: Which item; where one is added, that above it; None: the last.
    """
    if number is None:
        return len(outline.items)
    item = outline.items[number]
    neighbour = _neighbour(outline, item, way == "down")
    if way == "add":
        return number + _size(outline, item)
    if neighbour is None or way not in {"up", "down"}:
        return number
    return neighbour.number if way == "up" else number + _size(outline, neighbour)


def _size(outline: Outline, item: Item) -> int:
    """Return how many items an item is, with those of its block and its `otherwise`."""
    end = _unit(outline, item)[-1].end
    return sum(item.first <= each.first < end for each in outline.items)


def _neighbour(outline: Outline, item: Item, down: bool) -> Item | None:
    siblings = [each for each in outline.items if each.parent == item.parent and not _is_otherwise(each)]
    place = siblings.index(item) + (1 if down else -1) if item in siblings else -1
    return siblings[place] if 0 <= place < len(siblings) else None


def _end(outline: Outline, item: Item) -> int:
    """Return the index of the line after an item, its `otherwise` and the comments that belong to them."""
    last, lines = _unit(outline, item)[-1], outline.page.lines
    end = last.end
    while end < len(lines) and _is_comment(lines[end]) and _depth(lines[end]) > _depth(lines[last.first]):
        end += 1
    return end


def _unit(outline: Outline, item: Item) -> list[Item]:
    """Return an item, and the `otherwise` that belongs to it, if there is one."""
    siblings = [each for each in outline.items if each.parent == item.parent]
    return [item, *[each for each in siblings[siblings.index(item) + 1 :][:1] if _is_otherwise(each)]]


def _is_otherwise(item: Item) -> bool:
    guards = item.node.children[:-1] if item.node.data == "guarded" else []
    return any(guard.data == "otherwise" for guard in guards)


def _item(outline: Outline, number: int) -> Item:
    if not 0 <= number < len(outline.items):
        fix = [("fix", "load the text again")]
        raise InvalidRule(refusal(f"edit: expected a rule of the text but got number {number}", fix, place=""))
    return outline.items[number]


def _written(margin: str, head: str, properties: Mapping[str, str]) -> list[str]:
    if "\n" in head or "\r" in head:
        fix = [("fix", "write the sentence on one line")]
        raise InvalidRule(refusal("edit: expected a sentence on one line but it has several", fix, place=""))
    said = ((label, properties.get(label, "")) for label in LABELS)
    return [f"{margin}{head.strip()}", *(f"{margin}    {label}: {free(value)}" for label, value in said if value)]


def _margin(line: str) -> str:
    return line[: len(line) - len(line.lstrip())]


def _depth(line: str) -> int:
    return len(_margin(line).expandtabs())


def _is_comment(line: str) -> bool:
    return line.lstrip().startswith("#")


def _with_comments(lines: list[str], sentence: int) -> int:
    first = sentence
    while first > 0 and _is_comment(lines[first - 1]) and _depth(lines[first - 1]) <= _depth(lines[sentence]):
        first -= 1
    return first
