"""Loops: consumption depends on its own results, so its candidates are found by a loop, written for the pattern.

Memories are lists of row numbers, the oldest first; nothing else is there of an event. A loop visits what comes step by
step, enumerates the candidates of each in order, spends uses, and gives the row numbers of those that satisfy the
conditions; their values are gathered afterwards, all at once.

The text is composed here of names of its own: ``m0`` is what slot 0 keeps, ``u0`` the uses left, ``v0`` a column that a
condition needs; ``r`` is the row that comes, ``k`` the code of its key.

Source: ICFP 2018, doi:10.1145/3236762, Figure 10; SEMANTICS 1.2 to 1.7.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from cartesius.columns.loops.loop_texts import Plan, Text, drop_newer, kept, look, spend, store

if TYPE_CHECKING:
    from collections.abc import Sequence


def loop(plan: Plan, name: str, columns: Sequence[str]) -> str:
    """Return the text of the function ``name`` that runs the loop.

    Its parameters are the kind, the row and the key of what comes, step by step; the code of what meets nothing; of
    each slot its memory, the uses left, the guards and the number of rows that were there before; and the ``columns``
    that the condition needs. It returns how many candidates there were, the rows of those that satisfy the
    condition, one slot after the other, and the memories.

    Args:
        plan: What it is written for.
        name: Its name.
        columns: The names of what the condition needs.
    """
    text = Text()
    slots = plan.slots
    each = ", ".join(f"m{s}, u{s}, g{s}, b{s}" for s in slots)
    text.open(f"def {name}(kinds, rows, keys, nobody, {each}, {', '.join((*columns, ''))}):")
    text.add("out = []")
    text.add("tuples = 0")
    text.open("for kind, r, k in zip(kinds, rows, keys):" if plan.is_keyed else "for kind, r in zip(kinds, rows):")
    for number, kind in enumerate(plan.kinds):
        word = "if" if number == 0 else "elif"
        text.open(f"{word} kind == {number}:" if number < len(plan.kinds) - 1 or number == 0 else "else:")
        if len(kind) > 1:
            _release(plan, text, kind)
        elif plan.is_simple(kind[0]):
            _meet_first(plan, text, kind[0])
        else:
            _meet_all(plan, text, kind[0])
        text.close()
    text.close()
    text.add(f"return tuples, out, [{', '.join(f'm{s}' for s in slots)}]")
    return str(text)


# -- one candidate at most ---------------------------------------------------------------------------------------------


def _meet_first(plan: Plan, text: Text, slot: int) -> None:
    """What comes to ``slot`` meets what is visited first of each other slot."""
    drop_newer(plan, text, slot)
    others = [other for other in plan.slots if other != slot]
    if any(plan.leaves[other] for other in others):
        store(plan, text, slot)
        return
    for other in others:
        look(plan, text, other)
    end = 0 if plan.is_oldest_first else -1
    there = [f"h{other} >= 0" if plan.keeps_one(other) else f"q{other}" for other in others]
    if plan.is_keyed:
        there.insert(0, "k != nobody")
    text.open(f"if {' and '.join(there)}:" if there else "if True:")
    parts = []
    for s in plan.slots:
        if s == slot:
            parts.append("r")
        elif plan.keeps_one(s):
            parts.append(f"h{s}")
        elif plan.uses[s] == 1:
            parts.append(f"q{s}.pop({'0' if plan.is_oldest_first else ''})")
        else:
            text.add(f"h{s} = q{s}[{end}]")
            parts.append(f"h{s}")
    text.add(f"out += ({', '.join(parts)},)")
    text.add("tuples += 1")
    for other in others:
        _spend_first(plan, text, other, end)
    spend(plan, text, slot, "r")
    limited = plan.uses[slot]
    if limited == 1:
        if plan.newest[slot] is not None and not plan.leaves[slot]:
            store(plan, text, slot, spent="True")
        else:
            text.add("continue" if others else "pass")
    elif limited is not None:
        store(plan, text, slot, spent=f"not u{slot}[r]")
    else:
        store(plan, text, slot)
    text.close()
    text.open("else:")
    store(plan, text, slot)
    text.close()


def _spend_first(plan: Plan, text: Text, slot: int, end: int) -> None:
    uses = plan.uses[slot]
    if uses is None or (uses == 1 and not plan.keeps_one(slot)):
        return
    spend(plan, text, slot, f"h{slot}")
    text.open(f"if not u{slot}[h{slot}]:")
    text.add(f"{kept(plan, slot)} = -1" if plan.keeps_one(slot) else f"q{slot}.pop({end if end == 0 else ''})")
    text.close()


# -- all candidates ----------------------------------------------------------------------------------------------------


def _meet_all(plan: Plan, text: Text, slot: int) -> None:
    """What comes to ``slot`` meets all others, in order, while uses are left."""
    drop_newer(plan, text, slot)
    others = [other for other in plan.slots if other != slot]
    if any(plan.leaves[other] for other in others):
        store(plan, text, slot)
        return
    for other in others:
        look(plan, text, other)
        if plan.keeps_one(other):
            text.add(f"q{other} = (h{other},) if h{other} >= 0 else ()")
    limited = [other for other in others if plan.uses[other] is not None]
    for other in limited:
        text.add(f"s{other} = []")
    meets = [f"q{other}" for other in others]
    if plan.is_keyed:
        meets.insert(0, "k != nobody")
    if plan.is_guarded:
        text.add(f"g = g{slot}[r]")
        meets.insert(0, "g >= 0")
    text.open(f"if {' and '.join(meets)}:" if meets else "if True:")
    outer = [(slot, "r")] if plan.uses[slot] is not None else []
    _nest(plan, text, [(other, f"p{other}") for other in others], outer, {slot: "r"}, ())
    text.close()
    for other in limited:
        text.open(f"if s{other}:")
        _remove_spent(plan, text, other)
        text.close()
    store(plan, text, slot, spent=f"not u{slot}[r]" if plan.uses[slot] is not None else "")


def _remove_spent(plan: Plan, text: Text, slot: int) -> None:
    if plan.keeps_one(slot):
        text.add(f"{kept(plan, slot)} = -1")
        return
    text.open(f"for i in sorted(s{slot}, reverse=True):")
    text.add(f"del q{slot}[i]")
    text.close()


def _nest(
    plan: Plan,
    text: Text,
    levels: Sequence[tuple[int, str]],
    limited: Sequence[tuple[int, str]],
    bound: dict[int, str],
    fresh: Sequence[int],
) -> None:
    """Write nested loops over ``levels``, each a slot and the name of its row, and what is done for each candidate.

    Args:
        plan: What it is for.
        text: Where to.
        levels: What is not bound yet.
        limited: What is bound and has a limited number of uses: when they are over, the loop is.
        bound: The names of what is bound, by slot.
        fresh: The slots of which something came in this step, where some did together: one must be in a candidate.
    """
    if not levels:
        _take(plan, text, limited, bound)
        return
    (slot, row), *inner = levels
    text.open(f"for i{slot} in {_span(plan, slot, bound, fresh)}:")
    text.add(f"{row} = q{slot}[i{slot}]")
    if plan.uses[slot] is not None:
        text.open(f"if not u{slot}[{row}]:")
        text.add("continue")
        text.close()
    if plan.is_guarded:
        first = next(iter(bound.items()), None)
        differs = "< 0" if first is None else f"!= g{first[0]}[{first[1]}]"
        text.open(f"if g{slot}[{row}] {differs}:")
        text.add("continue")
        text.close()
    mine = [(slot, row)] if plan.uses[slot] is not None else []
    _nest(plan, text, inner, [*limited, *mine], {**bound, slot: row}, fresh)
    if inner:
        _stop(text, limited)
    text.close()


def _span(plan: Plan, slot: int, bound: dict[int, str], fresh: Sequence[int]) -> str:
    """Return the text for the places of a list in the order in which it is visited."""
    if fresh and slot == fresh[-1]:
        before = " or ".join(f"{bound[s]} == f{s}" for s in fresh[:-1])
        if plan.is_oldest_first:
            return f"range(0 if {before} else len(q{slot}) - (f{slot} >= 0), len(q{slot}))"
        return f"range(len(q{slot}) - 1, -1 if {before} else len(q{slot}) - 1 - (f{slot} >= 0), -1)"
    return f"range(len(q{slot}))" if plan.is_oldest_first else f"range(len(q{slot}) - 1, -1, -1)"


def _take(plan: Plan, text: Text, limited: Sequence[tuple[int, str]], bound: dict[int, str]) -> None:
    """Write what is done with a candidate."""
    text.add("tuples += 1")
    rows = [bound[s] for s in plan.slots]
    if plan.condition:
        text.open(f"if {plan.condition.format(*rows)}:")
    text.add(f"out += ({', '.join(rows)},)")
    for slot, row in limited:
        text.add(f"u{slot}[{row}] -= 1")
        if row == "r":
            continue
        text.open(f"if not u{slot}[{row}]:")
        text.add(f"s{slot}.append(i{slot})")
        text.close()
    innermost = next((slot for slot in reversed(bound) if bound[slot] != "r"), None)
    if innermost is not None:
        _stop(text, [one for one in limited if one[0] != innermost])
    if plan.condition:
        text.close()


def _stop(text: Text, limited: Sequence[tuple[int, str]]) -> None:
    """Leave the loop once something bound outside it has no use left."""
    if limited:
        text.open(f"if not ({' and '.join(f'u{slot}[{row}]' for slot, row in limited)}):")
        text.add("break")
        text.close()


# -- releases ----------------------------------------------------------------------------------------------------------


def _release(plan: Plan, text: Text, kind: Sequence[int]) -> None:
    """Several slots get a row each in one step: what has one of them in it is a candidate."""
    for slot in plan.slots:
        if plan.is_keyed:
            text.add(f"q{slot} = m{slot}.setdefault(k, [])")
        else:
            text.add(f"q{slot} = m{slot}")
    for slot in kind:
        text.add(f"f{slot} = b{slot} + r")
        if plan.oldest[slot] is not None:
            text.open(f"if len(q{slot}) >= {plan.oldest[slot]}:")
            text.add(f"f{slot} = -1")
            text.close()
            text.open("else:")
        text.add(f"q{slot}.append(f{slot})")
        if plan.oldest[slot] is not None:
            text.close()
        if plan.newest[slot] is not None:
            text.open(f"if len(q{slot}) > {plan.newest[slot]}:")
            text.add(f"del q{slot}[0]")
            text.close()
    if plan.is_keyed:
        text.open("if k == nobody:")
        text.add("continue")
        text.close()
    limited = [slot for slot in plan.slots if plan.uses[slot] is not None]
    for slot in limited:
        text.add(f"s{slot} = []")
    _nest(plan, text, [(slot, f"p{slot}") for slot in plan.slots], [], {}, sorted(kind))
    for slot in limited:
        text.open(f"for i in sorted(s{slot}, reverse=True):")
        text.add(f"del q{slot}[i]")
        text.close()
