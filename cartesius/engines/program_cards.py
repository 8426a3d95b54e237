"""Program cards: what a program is, as a short text that goes along with its state, so that a change can be explained.

A card names the outputs, and of each correlation its inputs, restrictions and bodies; what no text shows is told by a
digest. Whether a state fits is decided by the fingerprint alone; the card is for the message.

Source: DESIGN.md, section 7.
"""

from __future__ import annotations

import difflib
import json
import re
import sys
from typing import TYPE_CHECKING, Any, Final

from cartesius.batching.world import World
from cartesius.core.engine_core import MICROSECOND
from cartesius.expressions.expressions import Expression, show
from cartesius.language.fingerprints import describe, describe_clauses, fingerprint
from cartesius.programs.programs import Program

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from cartesius.correlations.join_shape import Join
    from cartesius.language.reactives import Reactive

    Card = dict[str, Any]

_LONGEST: Final = 20_000  # characters of a body
_SHOWN: Final = 160
_SEVERAL: Final = 6  # differences in one message
_TOKEN: Final = re.compile(r"[^,()|\s]+|[,()|]|\s+")


def program_card(outputs: Iterable[Reactive]) -> tuple[str, str]:
    """Return the fingerprint that an engine for ``outputs`` has, and the card, as JSON.

    >>> from cartesius import Reactive
    >>> from cartesius.engines.program_cards import program_card
    >>> same = [program_card([Reactive("left")]) for _ in range(2)]
    >>> same[0] == same[1]
    True

    Raises:
        NotStorable: A body captures something that is not plain data.
    """
    program = Program(outputs, World(MICROSECOND, is_trial=True))
    try:
        card: Card = {
            "python": ".".join(map(str, sys.version_info[:2])),
            "outputs": [program.names[output] for output in program.outputs],
            "correlations": {join.name: _correlation(join) for join in program.joins},
        }
        return fingerprint(program.describe(unit=MICROSECOND, lateness=None)), json.dumps(card)
    finally:
        program.drop()


def _correlation(join: Join) -> Card:
    pattern = join.pattern
    return {
        "slots": {
            slot.name: f"{slot.source}{' (table)' * slot.is_table}{pattern.shown_count(slot.name)}"
            for slot in join.slots
        },
        "restrictions": [
            [repr(one), _digest((dict(one.configuration), dict(one._states), describe_clauses(type(one))))]
            for one in pattern.restrictions
        ],
        "where": _body(pattern.where),
        "yields": _body(pattern.yields),
    }


def _body(body: Any) -> list[str]:
    shown = show(body) if isinstance(body, Expression) else getattr(body, "__qualname__", repr(body))
    return [shown[:_LONGEST], _digest(body)]


def _digest(value: Any) -> str:
    return fingerprint(describe(value))[:8]


def differences(before: str, now: str) -> list[str]:
    """Return what differs between two cards, as clauses of a sentence; the most telling first.

    >>> from cartesius.engines.program_cards import differences
    >>> empty = '{"python": "3.11", "outputs": ["a"], "correlations": {}}'
    >>> differences(empty, empty.replace('"a"', '"b"'))
    ["the outputs were 'a' and are 'b'"]
    """
    old, new = json.loads(before), json.loads(now)
    found: list[str] = []
    if old["python"] != new["python"]:
        found.append(f"Python was {old['python']} and is {new['python']}, whose byte code of functions differs")
    if old["outputs"] != new["outputs"]:
        found.append(f"the outputs were {_listed(old['outputs'])} and are {_listed(new['outputs'])}")
    there, here = old["correlations"], new["correlations"]
    found += [f"the correlation {name!r} is gone" for name in there if name not in here]
    found += [f"the correlation {name!r} is new" for name in here if name not in there]
    for name in here:
        if name in there:
            found += [f"in {name!r} {change}" for change in _changes(there[name], here[name])]
    return found or ["something that the state does not describe, such as a function that a restriction calls"]


def shown(found: list[str]) -> str:
    """Return differences as one sentence's end."""
    rest = f"; and {len(found) - _SEVERAL} more differences" if len(found) > _SEVERAL else ""
    return "; ".join(found[:_SEVERAL]) + rest


def _changes(old: Card, new: Card) -> Iterable[str]:
    for slot in old["slots"].keys() | new["slots"].keys():
        was, is_ = old["slots"].get(slot), new["slots"].get(slot)
        if was is None:
            yield f"the slot {slot!r} is new ({is_})"
        elif is_ is None:
            yield f"the slot {slot!r} is gone ({was})"
        elif was != is_:
            yield f"the slot {slot!r} was bound to {was} and is to {is_}"
    yield from _restrictions(old["restrictions"], new["restrictions"])
    for body in ("where", "yields"):
        yield from _bodies(body, old[body], new[body])


def _restrictions(old: list[list[str]], new: list[list[str]]) -> Iterable[str]:
    gone, come = [one for one in old if one not in new], [one for one in new if one not in old]
    for text, _ in gone:
        same = next((one for one in come if one[0] == text), None)
        if same is not None:
            come.remove(same)
            yield f"the restriction {text} has another function in it, or other clauses"
        else:
            yield f"the restriction {text} is gone"
    yield from (f"the restriction {text} is new" for text, _ in come)
    if not gone and not come and old != new:
        yield "the restrictions are in another order"


def _bodies(body: str, old: list[str], new: list[str]) -> Iterable[str]:
    if old == new:
        return
    if old[0] == new[0]:
        yield f"the function of {body}= ({_cut(new[0])}) computes something else"
        return
    gone, come = _tokens(old[0]), _tokens(new[0])
    parts = []
    for way, a, b, c, d in difflib.SequenceMatcher(None, gone, come, autojunk=False).get_opcodes():
        if way in ("replace", "delete"):
            parts.append(f"- {_cut(''.join(gone[a:b]).strip())}")
        if way in ("replace", "insert"):
            parts.append(f"+ {_cut(''.join(come[c:d]).strip())}")
    yield f"{body}= differs: {', '.join(parts[:_SEVERAL])}{' …' * (len(parts) > _SEVERAL)}"


def _tokens(text: str) -> list[str]:
    return _TOKEN.findall(text)


def _cut(text: str) -> str:
    return text if len(text) <= _SHOWN else f"{text[: _SHOWN // 2]} … {text[-_SHOWN // 2 :]}"


def _listed(names: Iterable[str]) -> str:
    return ", ".join(map(repr, names))


def fixed_parts(card: str) -> tuple[Any, Mapping[str, Any]]:
    """Return what stays where rules change: the outputs, and by inputs and restrictions what is in each memory."""
    found = json.loads(card)
    return found["outputs"], {name: (one["slots"], one["restrictions"]) for name, one in found["correlations"].items()}
