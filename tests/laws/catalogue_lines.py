"""The lines of a drawn program: an operator on top of what there is, or a correlation under a stack of restrictions."""

from __future__ import annotations

import re
from itertools import pairwise
from typing import Any

from cartesius.errors import CartesiusError
from tests.laws import catalogue_operators, catalogue_restrictions, catalogue_windows
from tests.laws.catalogue import EXPORTS, NAMES, Refused, Sketch

REGISTRIES = (catalogue_restrictions, catalogue_windows, catalogue_operators)
"""The modules that enter exports, once they are imported."""
CONDITIONS = [
    "{a}.k == {b}.k",
    "{a}.k == {b}.k",
    "{a}.k == {b}.j",
    "{a}.n % 2 == {b}.n % 2",
    "({a}.k == {b}.k) & ({a}.j <= {b}.j)",
    "({a}.k == {b}.k) & ({b}.j != 0) & ({a}.n / {b}.j >= 1)",
    "({b}.j != 0) & ({a}.k / {b}.j >= 0)",
    "({a}.k == {b}.j) | ({a}.j == {b}.k)",
    "({a}.k == None) | ({a}.k != {b}.k)",
    "~({a}.k < {b}.j)",
    "time_{a}.end <= time_{b}.start",
]
UNTRACED = ["touchy({a}) and {a}.k == {b}.k", "size({a}) % 2 == size({b}) % 2"]
RECORDS = [
    "{{'n': {a}.n, 'k': {z}.k, 'j': {a}.j, 'v': {z}.n}}",
    "{{'n': {a}.n, 'k': {a}.k, 'j': {z}.n % 2, 'v': 'text'}}",
    "record(({all},))",
]
VALUES = [
    "({all_n},)",
    "({all},)",
    "({a}.k + {z}.j, {a}.n * 2 - {z}.n)",
    "(time_{a}.start, time_{z}.end, {a}.v)",
    "({a}.k < {z}.j, -{z}.n, {a}.n // 2)",
    "('nested', ({a}.n, {{'z': {z}.v}}))",
]
ANY = ["(size({a}), size({z}))", "({all},)"]
EXTRAS = ("most_recently", "key_by", "within", "only", "fifo", "retracting", "in_sequence", "affinely", "tumbling")
TOGETHER = 4
"""How many restrictions a stack has at most."""


def add_line(sketch: Sketch, wanted: list[str], bound: dict[str, Any]) -> None:
    """Draw a line with the first of what is ``wanted``, and with what of it can stand in one stack with that."""
    if not wanted:
        wanted.append(sketch.draw.choice(list(EXPORTS)))
    if EXPORTS[wanted[0]].is_restriction:
        _correlation(sketch, wanted, bound)
    else:
        text, kind = EXPORTS[sketch.write(wanted.pop(0))].draw(sketch)
        _run(sketch, f"@ = {text}", kind, bound)


def _run(sketch: Sketch, line: str, kind: str, bound: dict[str, Any]) -> None:
    name = f"x{len(sketch.lines)}"
    line = line.replace("@", name, 1)
    exec(line, bound)
    sketch.add(line, kind, name)


def _correlation(sketch: Sketch, wanted: list[str], bound: dict[str, Any]) -> None:
    """Add a correlation under a stack of at most four: the first of what is wanted, and what goes with it."""
    fresh, used = sketch.fresh, set(sketch.used)
    names: list[str] = []
    for name in wanted:
        has_first = any(EXPORTS[one].is_first for one in names)
        if EXPORTS[name].is_restriction and len(names) < TOGETHER and not (has_first and EXPORTS[name].is_first):
            names.append(name)
    if len(names) < TOGETHER and sketch.chance(0.5):
        names.append(sketch.draw.choice([name for name in EXTRAS if name not in names]))
    while names:
        for _ in range(2):
            sketch.fresh, sketch.used = fresh, set(used)
            try:
                line, kind = _drawn(sketch, list(names))
                _run(sketch, line, kind, bound)
            except (CartesiusError, Refused):
                continue
            wanted[:] = [name for name in wanted if name not in names]
            return
        names.pop()
    raise Refused


def _drawn(sketch: Sketch, names: list[str]) -> tuple[str, str]:
    amount = sketch.draw.choices([1, 2, 3, 4], [2, 8, 2, 1])[0]
    sketch.begin(NAMES[:amount])
    first = sketch.table if sketch.chance(0.15) else sketch.stream
    sketch.sources = [first(), *(sketch.table() if sketch.chance(0.1) else sketch.stream() for _ in range(amount - 1))]
    if amount > 1 and sketch.chance(0.15):
        sketch.sources[-1] = sketch.sources[0]
    sketch.draw.shuffle(names)
    names.sort(key=lambda name: not EXPORTS[name].is_first)
    if sketch.is_keyed and "key_by" not in names and sketch.chance(0.7):
        names.append("key_by")
    if "key_by" in names and (sketch.is_keyed or sketch.chance(0.5)):
        names.insert(0, names.pop(names.index("key_by")))
    stack = [EXPORTS[sketch.write(name)].draw(sketch) for name in names]
    where = _where(sketch)
    yields, kind = _yields(sketch)
    slots = ", ".join(f"{slot}={source}" for slot, source in zip(sketch.slots, sketch.sources, strict=True))
    restrict = " | ".join(one for one in stack if one)
    line = f"{sketch.write('correlate')}({slots}{where}{yields}"
    if "restricting" in names:
        line = f"with {sketch.write('restricting')}({restrict or 'fifo()'}): @ = {line})"
    else:
        line = f"@ = {line}{f', restrict={restrict}' if restrict else ''})"
    return line, sketch.kind or kind


def _where(sketch: Sketch) -> str:
    plain = [slot for slot in sketch.slots if slot not in sketch.lists | sketch.odd]
    texts = [text for text in sketch.conditions if text != "True"]
    if sketch.is_keyed:
        texts += [f"{a}.k == {b}.k" for a, b in pairwise(plain)]
    elif "True" not in sketch.conditions:
        amount = sketch.draw.choice([0, 0, 1, 1, 2])
        texts += [sketch.draw.choice(CONDITIONS).format(a=a, b=b) for a, b in list(pairwise(plain))[:amount]]
    if not texts:
        return ""
    whole = " & ".join(f"({text})" for text in texts)
    if len(plain) > 1 and "each" not in whole and not sketch.maybe and sketch.chance(0.1):
        whole = sketch.draw.choice(UNTRACED).format(a=plain[0], b=plain[1])
    return f", where=lambda {_parameters(sketch, whole)}: {whole}"


def _yields(sketch: Sketch) -> tuple[str, str]:
    slots, odd = sketch.slots, sketch.lists | sketch.odd | sketch.maybe
    everything = {"all": ", ".join(slots), "a": slots[0], "z": slots[-1]}
    if sketch.tells:
        text, kind = f"({', '.join(sketch.tells)}, size({slots[0]}))", "values"
    elif odd:
        text, kind = sketch.of(("record(({all},))", "stream"), *((text, "values") for text in ANY))
    else:
        records = RECORDS[:2] if sketch.is_keyed else RECORDS  # the others have no k
        text, kind = sketch.of((sketch.draw.choice(records), "stream"), (sketch.draw.choice(VALUES), "values"))
    filled = text.format(**everything, all_n=", ".join(f"{slot}.n" for slot in slots))
    return f", yields=lambda {_parameters(sketch, filled)}: {filled}", kind


def _parameters(sketch: Sketch, text: str) -> str:
    mentioned = [slot for slot in sketch.slots if re.search(rf"\b{slot}\b", text)]
    more = [f"{kind}_{slot}" for slot in sketch.slots for kind in ("time", "key") if f"{kind}_{slot}" in text]
    return ", ".join([*(mentioned or ([] if more else sketch.slots[:1])), *more])
