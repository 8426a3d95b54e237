"""Explaining a program before it runs: handlers, bounds, order, partitioning, indexes, and what runs as written."""

from __future__ import annotations

from types import FunctionType
from typing import TYPE_CHECKING, NamedTuple

from cartesius.analysis.bounds import bounds_of
from cartesius.analysis.partition_choice import explained
from cartesius.analysis.sequence_automata import automaton_of, has_sequence
from cartesius.analysis.windowed_rows import row_windows, stays
from cartesius.data.value_texts import shown
from cartesius.drawing.html_tables import HtmlText, drawing, panel, table
from cartesius.drawing.markup import element
from cartesius.expressions.called_functions import called_by
from cartesius.expressions.expressions import Expression, show
from cartesius.language.families import arrive, completes, first_is_oldest, optional, retract, row_key, totals
from cartesius.order.order_edges import edges_of, relied_on_by
from cartesius.plan import facts
from cartesius.programs.sharing import shared_by
from cartesius.results.outputs import Events, Rows
from cartesius.results.relations import Relations
from cartesius.results.totals import Totals
from cartesius.results.views import View
from cartesius.tracking.track_machines import machine_of
from cartesius.tracking.track_shapes import track_shape_of

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping

    from cartesius.automata.transitions import Steps
    from cartesius.correlations.installations import Installed
    from cartesius.correlations.join_shape import Join
    from cartesius.language.families import Slot
    from cartesius.language.reactives import Reactive
    from cartesius.storage.shared_memories import SharedMemory

UNBOUNDED = "unbounded"
# The clauses for these weigh no events against others.
_CONCERN_ONE = (optional, row_key, totals, completes, first_is_oldest, retract)


def explain(
    joins: Iterable[Join],
    outputs: Iterable[Reactive],
    tier: Callable[[Join], str],
    way: Callable[[Join], str],
    *,
    bounds: bool = False,
) -> HtmlText:
    """Return a text with one paragraph a correlation, in the order in which they run; a notebook shows tables.

    Args:
        joins: The correlations.
        outputs: What they are computed for.
        tier: Says how a push runs through one.
        way: Says how a batch does.
        bounds: Whether to say in numbers what is held, and what an event costs.
    """
    joins = list(joins)
    split = explained(tuple(outputs))
    owners = {shared: f"{users[0][0].name}.{users[0][1].name}" for shared, users in shared_by(joins).items()}
    said = [
        [*_lines(join, owners, split(join.reactives[0]), tier(join), way(join)), *(_bounds(join) if bounds else [])]
        for join in joins
    ]
    paragraphs = [
        "\n".join([_title(join), *(f"  {line.label:<13} {line.text}" for line in lines)])
        for join, lines in zip(joins, said, strict=True)
    ]
    return HtmlText("\n\n".join(paragraphs), lambda: "".join(map(_html, joins, said)))


class _Line(NamedTuple):
    """What is said of one aspect of a correlation, and whether it is that something has no bound."""

    label: str
    text: str
    is_alert: bool = False


def _title(join: Join) -> str:
    return f"{join.name}{' (table)' if join.is_table else ''}"


def _html(join: Join, lines: list[_Line]) -> str:
    """Show a paragraph as a table, and what is in sequence as an automaton below it."""
    rows = [
        (line.label.rstrip(), element("span", line.text, class_="cartesius-alert") if line.is_alert else line.text)
        for line in lines
    ]
    automaton = drawing(automaton_of(join))._repr_html_() if has_sequence(join) else ""
    return panel(table((), rows, caption=_title(join), most=len(rows))) + automaton


def _lines(join: Join, owners: Mapping[SharedMemory, str], partitioning: str, tier: str, way: str) -> list[_Line]:
    lines = []
    if join.pattern.alternative is not None:
        lines.append(_Line("alternative", f"{join.pattern.alternative}: what it uses up is gone for the others"))
    written = " | ".join(map(repr, join.pattern.restrictions))
    lines.append(_Line("restrictions", written or "none: the whole product"))
    for slot in join.slots:
        bound, by = memory_bound(join, slot)
        queues = waiting_bounds(join, slot)
        waiting = "".join(f"; queue {held}, {holder}" for held, holder in queues)
        source = slot.source + join.pattern.shown_count(slot.name)
        part = "no part, " * (slot.name in join.pattern.absent.names)
        owner = "" if slot.shared is None else owners[slot.shared]
        shared = f"; memory shared with {owner}" * (owner not in ("", f"{join.name}.{slot.name}"))
        is_alert = UNBOUNDED in (bound, *(held for held, _ in queues))
        text = f"{source}: {part}memory {bound}, {by}{shared}{waiting}"
        lines.append(_Line(f"slot {slot.name:<9}", text, is_alert))
    kept = [("rows", rows_bound(join)), *(("state", said) for said in states_bounds(join))]
    lines += [
        _Line(label, f"{bound}, {by}", is_alert=bound == UNBOUNDED) for label, (bound, by) in kept if bound != "O(0)"
    ]
    lines.append(_Line("order", _order(join)))
    for edge in edges_of(join):
        lines.append(_Line("edge " + ", ".join(slot.name for slot in edge.slots), edge.condition))
    lines.append(_Line("partitioning", partitioning))
    for (left_slot, left), (right_slot, right) in join.pattern.equalities:
        lines.append(_Line("index", f"{left_slot} and {right_slot} by {show(left)} == {show(right)}"))
    lines += [_Line("as written", reason) for reason in join.pattern.untraced]
    if any(reason.startswith("where") for reason in join.pattern.untraced):
        nulls = "as in Python: None == None holds and None > 3 raises; what traces has both unknown"
        lines.append(_Line("nulls", nulls))
    lines += [_Line("calls", f"{function.__qualname__}, {place}") for function, place in _called(join).items()]
    if isinstance(join.pattern.yields, Expression):
        lines.append(_Line("yields", show(join.pattern.yields)))
    return [*lines, _Line("handlers", _stack(join)), _Line("tier", tier), _Line("push_many", way)]


def _called(join: Join) -> dict[FunctionType, str]:
    """Return the functions that bodies which run as written call, with where they are: a snapshot depends on them."""
    bodies = [body for body in (join.pattern.where, join.pattern.yields) if isinstance(body, FunctionType)]
    called = [function for body in bodies for function in called_by(body)]
    return {one: f"line {one.__code__.co_firstlineno} of {one.__code__.co_filename}" for one in called}


def _bounds(join: Join) -> list[_Line]:
    """Say in numbers what is held, and what an event costs; and likewise of the transducer that it is."""
    found = bounds_of(join, {slot.name: _without_number(join, slot) for slot in join.slots})
    each = f"{found.for_each_key} for each key" if found.for_each_key else ""
    common = str(found.everywhere) if found.everywhere or not each else ""
    rest = ", and what has no bound" * bool(found.unbounded)
    lines = [_Line("variables", f"{' and '.join(filter(None, (each, common)))}{rest}")]
    lines += [_Line("unbounded", f"{what}: {why}", is_alert=True) for what, why in found.unbounded.items()]
    lines += [
        _Line("steps", f"{source}: {_cost(cost)}", is_alert=isinstance(cost, str))
        for source, cost in found.steps.items()
    ]
    shape = track_shape_of(join)
    if not isinstance(shape, str):
        machine = machine_of(join, shape)
        each = " for each key" * bool(join.bindings.spaces)
        lines.append(_Line("transducer", f"{len(machine.states)} variables{each}, as {shape.kind.value}"))
        lines += [_Line("its steps", f"{tag}: {_cost(machine.steps(tag))}") for tag in machine.tags]
    return lines


def _cost(cost: Steps | str) -> str:
    if isinstance(cost, str):
        return f"no bound: {cost}"
    return f"{cost.total} at most, on {cost.levels} level{'s' * (cost.levels != 1)}, {cost.parallel} at once"


def _without_number(join: Join, slot: Slot) -> str:
    bound, by = memory_bound(join, slot)
    return by if bound == UNBOUNDED or "O(keys)" in bound else f"as many events as come in a time, {by}"


def _stack(join: Join) -> str:
    """Return the handlers in force around an event, outermost first; those of a layer in brackets."""
    layers = []
    places = (("trigger", "trigger"), ("outer", "product"), ("memory", "remember"), ("gates", ""), ("door", "door"))
    for name, own in places:
        named = [
            repr(one.restriction)
            for one in join.installed
            if any(one.layer_of(family) == name and family not in _CONCERN_ONE for _, family, _, _ in one.marks)
        ]
        layers += [*([f"[{' | '.join(named)}]"] if named else []), *([own] if own else [])]
    keys = [repr(restriction) for restriction in join.pattern.restrictions if facts.key_space(restriction)]
    return " > ".join(["collect", *layers, *keys])


def memory_bound(join: Join, slot: Slot) -> tuple[str, str]:
    """Return the bound on a slot's memory and what gives it."""
    keyed = any(slot.index in space for space in join.bindings.spaces)
    for installed in join.installed:
        if slot in facts.swallowed(installed):
            return "O(0)", f"nothing of it gets past {installed.restriction!r}"
        if slot in installed.absent:
            return _bound_of_absent(join, installed)
        bound = facts.bound(installed)
        if facts.settles(installed) and not installed.is_settled:
            continue  # an event of another slot may complete a row later
        if installed.absent and not (join.batch.absences and join.batch.absences.passes(slot)):
            continue  # it bounds what is absent
        if bound is not None and slot in installed.named:
            if None in installed.lags().values():
                return UNBOUNDED, f"not even by {installed.restriction!r}, as what may meet it may be of any time"
            bound = _of_all_keys(bound) if installed.prefixes[slot.index] else bound
            still = ", but not while what may meet it can come late or is held by gates, here or before"
            held = still if installed.floor_slots else ""
            each = " per key" if installed.prefixes[slot.index] else ""
            return bound, f"by {installed.restriction!r}{each}{held}"
    if slot.keeps_late and slot.retention is None:
        return UNBOUNDED, "all versions are kept; versioned(…, retention=…) bounds it"
    if slot.keeps_late:
        said = next(found for one in join.installed if (found := facts.versions(one.restriction)) is not None)
        return "O(window)", f"what is within {shown(said.retention)} of the clock"
    if slot.is_table and (reason := stays(join.pattern, slot.name)):
        return UNBOUNDED, reason
    if slot.is_table:
        return "O(keys)", "one row a key of the table"
    return UNBOUNDED, "no restriction bounds it" + (" (key_by alone does not)" if keyed else "")


def _of_all_keys(bound: str) -> str:
    """Return what a bound comes to where it is that of each key: of versions the newest of each key stays."""
    if bound.startswith("at most "):
        return "O(keys)"
    return bound.replace("O(1)", "O(keys)").replace("O(versions)", "O(keys) + O(versions)")


def _bound_of_absent(join: Join, installed: Installed) -> tuple[str, str]:
    """Return the bound on what is absent: it is kept as long as a part may need it."""
    for slot in installed.anchors:
        if memory_bound(join, slot)[0] == UNBOUNDED:
            return UNBOUNDED, f"as long as an event of {slot.name} that may need it, which no restriction bounds"
    return facts.bound(installed) or UNBOUNDED, f"by {installed.restriction!r}"


def rows_bound(join: Join) -> tuple[str, str]:
    """Return what bounds the results that are kept as rows of a table, or as totals, and why; O(0): there are none."""
    output = join.batch.output
    if isinstance(output, Events | View):
        return "O(0)", "it gives what it finds in memory"
    if isinstance(output, Relations) and output.kind != "rstream" and join.bindings.window_space:
        return "O(keys)", "the last report of each key, which its next one is compared with"
    if isinstance(output, Relations):
        return "O(window)", "what windows report is forgotten with them, but for the last report"
    if join.batch.windows is not None and row_windows(join.pattern) is not None:
        return "O(window)", "rows are forgotten with their windows"
    restrictions = [one.restriction for one in join.installed]
    letting_go = next((one for one in restrictions if facts.settles(one) or facts.opens_windows(one)), None)
    if isinstance(output, Rows) and output.keeps_all and letting_go is not None:
        return UNBOUNDED, f"as each result of a key is known also when {letting_go!r} has let its parts go"
    if isinstance(output, Totals):
        elements = f", with what it is of, as {output.group!r} cannot subtract" * output.keeps_elements
        return ("O(keys)" if output.is_table else "O(1)"), f"one total{' a key' * output.is_table}{elements}"
    return "O(keys)", "one row a key of its results"


def states_bounds(join: Join) -> list[tuple[str, str]]:
    """Return what restrictions remember of each key, though they hold nothing of it, and which: nothing frees that."""
    window = join.bindings.window_space
    return [
        ("O(keys)", f"what {one.restriction!r} remembers of each key, for good")
        for one in join.installed
        if one.restriction._states and one.prefix and window not in one.prefix and facts.remembers(one)
    ]


def waiting_bounds(join: Join, slot: Slot) -> list[tuple[str, str]]:
    """Return what bounds the events of a slot that gates hold back, and which gate does: one pair for each of them."""
    concerned = {one: join.slots if one.absent else one.named or join.slots for one in join.installed}
    named = [one for one in join.installed if slot in concerned[one] and slot not in one.absent]
    found = [
        (_of_all_keys(bound), f"held by {one.restriction!r} per key")
        if one.prefixes[slot.index]
        else (bound, f"held by {one.restriction!r}")
        for one in named
        if (bound := facts.held(one)) is not None
    ]
    found += [
        (
            "unknown",
            f"{one.restriction!r} may hold events and does not say how many (say it in its plan: Opaque(held=…))",
        )
        for one in named
        if _may_hold(one)
    ]
    found += [(UNBOUNDED, f"where {one.restriction!r} pauses it") for one in join.installed if slot in one.pausing]
    return found


def _may_hold(one: Installed) -> bool:
    """Whether a gate with a state may hold events, and says nothing of how many."""
    is_silent = facts.may_hold(one) and bool(one.restriction._states)
    return is_silent and any(family is arrive for _, family, _, _ in one.marks)


def _order(join: Join) -> str:
    relying = relied_on_by(join)
    if not relying:
        return "none relied on: the same results in any order of arrival, as a set"
    return f"arrival order, relied on by {', '.join(relying)}"
