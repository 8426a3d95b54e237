"""Direct codes: what a push into one slot of a known correlation does, as the text of one function.

What the clauses of the restrictions do to this slot, the enumeration from it, the body, and what is kept, in one piece:
no handler is looked for, and no candidate is made that another entry must complete. The function works on the memories
and entries that all else works on. It finds out first all that can fail, and changes the state last; if something
fails it returns None, having changed nothing, and the push is done as written, which fails in the same way, with notes.

Invariant: what it computes is what the clauses, the enumeration and the body would have computed.

Source: DESIGN 4; SEMANTICS 1.2 to 1.7.
"""

from __future__ import annotations

from operator import attrgetter
from typing import TYPE_CHECKING, Any

from cartesius.doors import checked_times
from cartesius.entries import ABSENT, LIVE, Entry
from cartesius.events import Event, EventDraft, Interval
from cartesius.expression_texts import Texts
from cartesius.expressions import Expression
from cartesius.generated import Constants, commented, define
from cartesius.meanings import Meaning
from cartesius.memories import NOWHERE, checked_key, hashable
from cartesius.queues import Queue
from cartesius.records import Record, wrap

if TYPE_CHECKING:
    from collections.abc import Callable

    from cartesius.direct_shapes import Shape
    from cartesius.enumeration import Step
    from cartesius.steps import Steps

_PLAIN = frozenset((int, float, str, bool, bytes, type(None), tuple, list, Record))
"""Types of payloads that are no mappings."""
_SCOPE: dict[str, Any] = {
    "plain": _PLAIN, "wrap": wrap, "checked_times": checked_times, "checked_key": checked_key, "hashable": hashable,
    "NOWHERE": NOWHERE, "ABSENT": ABSENT, "LIVE": LIVE, "Entry": Entry, "Event": Event, "EventDraft": EventDraft,
    "new": object.__new__, "Record": Record, "Interval": Interval, "Queue": Queue,
}  # fmt: skip


class DirectCode:
    """The function of one slot: its text, and how it is made."""

    def __init__(self, shape: Shape, steps: Steps) -> None:
        join = shape.join
        self._shape = shape
        self._join = join
        self._slot = shape.slot
        self._me = f"part{self._slot.index}"
        self._constants = Constants()
        self._texts = Texts({slot.name: slot.index for slot in join.slots}, self._constants)
        self._lines: list[str] = []
        self._depth = 0
        self._bound: dict[str, Any] = {
            **_SCOPE, "world": join.world, "steps": steps, "output": join.name, "correlation": join.number,
            "source": self._slot.source,
        }  # fmt: skip
        for slot in join.slots:
            entries, indexes = slot.memory.parts()
            self._bound |= {f"memory{slot.index}": slot.memory, f"entries{slot.index}": entries}
            self._bound |= {self._table(slot.index, positions): table for positions, table in indexes.items()}
            self._bound[f"slot{slot.index}"] = slot.name
        self._write()
        self.text = "\n".join(self._lines) + "\n"
        self.function: Callable[[Any, Any], list[Event] | None] = define(
            "push", self.text, {**self._bound, **self._constants.bound}
        )

    def shown(self) -> str:
        """Return the text, with the pattern that it came from, and what the bound names in it are."""
        pattern = self._join.pattern
        restrict = " | ".join(map(repr, pattern.restrictions)) or "none: the whole product"
        head = [f"# {self._join.name}, when an event comes to {self._slot.name!r}", f"# restricted by {restrict}"]
        head += [f"# {name} = {value!r}" for name, value in self._constants.bound.items()]
        return "\n".join(["# " + commented(line[2:]) for line in head]) + "\n" + self.text

    # -- writing -------------------------------------------------------------------------------------------------------

    def _line(self, text: str) -> None:
        self._lines.append("    " * self._depth + text)

    def _open(self, text: str) -> None:
        self._line(text)
        self._depth += 1

    @staticmethod
    def _table(slot: int, positions: tuple[int, ...]) -> str:
        return f"table{slot}_" + "_".join(map(str, positions))

    def _write(self) -> None:
        self._open("def push(value, at):")
        self._line("if steps.is_running:")
        self._line("    return None")
        self._line("if at is None:")
        self._line("    start = end = world.latest + 1")
        self._line("elif type(at) is int:")
        self._line("    start = end = at")
        self._line("else:")
        self._line("    start, end = checked_times(at, world.latest, world.clock)")
        self._line("if end < world.clock:")
        self._line("    return None")
        self._line("if type(value) not in plain:")
        self._line("    value = wrap(value)")
        self._line("ordinal = world.events + 1")
        self._line("out = []")
        if self._shape.calls_nothing:
            self._compute()
        else:
            self._line("steps.is_running = True")
            self._open("try:")
            self._compute()
            self._depth -= 1
            self._line("except Exception:")
            self._line("    return None  # as written it fails again, and says where")
            self._line("finally:")
            self._line("    steps.is_running = False")
        self._commit()
        self._line("return out")
        self._depth -= 1

    def _leave(self, *also: str) -> None:
        """Return early: the event has come, and nothing more."""
        for line in (*_COME, *also, "return out"):
            self._line(line)
        self._depth -= 1

    # -- finding out ---------------------------------------------------------------------------------------------------

    def _compute(self) -> None:
        shape = self._shape
        self._keys()
        for predicate in shape.filters:
            self._open(f"if not {self._constants.name(predicate)}(value):")
            self._leave()
        me = self._me
        keys = "".join(
            f"key{space}, " if self._slot.index in extract else "ABSENT, "
            for space, extract in enumerate(self._join.bindings.spaces)
        )
        self._line(f"{me} = new(Entry)")
        self._line(f"{me}.value = value")
        self._line(f"{me}.start = start")
        self._line(f"{me}.end = end")
        self._line(f"{me}._identity = (source, ordinal)")
        self._line(f"{me}.keys = ({keys})")
        self._line(f"{me}.row_key = ABSENT")
        self._line(f"{me}.slot = slot{self._slot.index}")
        self._line(f"{me}.state = LIVE")
        uses = shape.uses.get(self._slot.index)
        self._line(f"{me}.more = None" if uses is None else f"{me}.more = {{'uses': {uses}}}")
        if shape.is_aligned:
            self._align()
            return
        self._line(f"{me}.number = stored = world.number + 1")
        self._find_predecessor()
        self._line("tuples = 0")
        for index in shape.uses:
            self._line(f"left{index} = {{}}")
        depth = self._depth
        self._visit(shape.steps)
        self._depth = depth
        for index in shape.uses:
            if index != self._slot.index:
                self._line(f"spent{index} = [(p, memory{index}.places_of(p)) for p, n in left{index}.items() if n < 1]")

    def _keys(self) -> None:
        for space, extract_of in enumerate(self._join.bindings.spaces):
            if self._slot.index not in extract_of:
                continue
            extract = extract_of[self._slot.index]
            key = f"key{space}"
            field = str(extract.__reduce__()[1][0]) if isinstance(extract, attrgetter) else ""
            if field and "." not in field:
                self._line(f"{key} = {self._texts.field('value', field)}")
            else:
                self._line(f"{key} = {self._constants.name(extract)}(value)")
            self._line(f"if type({key}) is not int and type({key}) is not str:")
            self._line(f'    {key} = checked_key({key}, "key_by")')

    def _key_text(self, positions: tuple[int, ...]) -> str:
        """Return what the new entry is found by in an index on keys."""
        keys = [f"key{position}" for position in positions]
        return keys[0] if len(keys) == 1 else f"({', '.join(keys)})"

    def _find_predecessor(self) -> None:
        """Find what the new entry displaces, or that it is dropped itself."""
        shape, index = self._shape, self._slot.index
        if not shape.stores:
            return
        if not shape.is_simply_indexed:
            self._line(f"coming = memory{index}.places({self._me})")
        if shape.rule is None:
            return
        meaning, n, prefix = shape.rule
        if not prefix:
            if meaning is Meaning.OLDEST:
                self._open(f"if len(entries{index}) >= {n}:")
                self._leave("world.number = stored")
            elif not shape.is_simply_indexed:
                self._line(f"old = next(iter(entries{index}.values())) if len(entries{index}) >= {n} else None")
        else:
            found = f"{self._table(index, prefix)}.get({self._key_text(prefix)})"
            if n == 1:
                self._line(f"old = {found}")
            else:
                self._line(f"old = {found}")
                self._line(f"old = next(iter(old.values())) if type(old) is dict and len(old) >= {n} else None")
            if meaning is Meaning.OLDEST:
                self._open("if old is not None:")
                self._leave("world.number = stored")
        if meaning is Meaning.NEWEST and not shape.is_simply_indexed:
            self._line(f"going = None if old is None else memory{index}.places_of(old)")

    def _visit(self, steps: tuple[Step, ...]) -> None:
        """Write the nested loops over the other slots."""
        for step in steps:
            index = step.slot
            if not step.positions:
                self._line(f"memory{index}.visited += len(entries{index})")
                found = f"entries{index}.values()"
            else:
                key = self._look_up_key(step)
                table = self._table(index, step.positions)
                if self._shape.is_single(step):
                    self._line(f"part{index} = {table}.get({key})")
                    self._open(f"if part{index} is not None:")
                    self._line(f"memory{index}.visited += 1")
                    continue
                self._line(f"found{index} = {table}.get({key}, ())")
                self._line(
                    f"found{index} = found{index}.values() if type(found{index}) is dict else"
                    f" (found{index},) if found{index} else ()"
                )
                self._line(f"memory{index}.visited += len(found{index})")
                found = f"found{index}"
            is_forward = self._join.batch.rank.is_oldest_first or self._shape.is_single(step)
            self._open(f"for part{index} in {found if is_forward else f'reversed({found})'}:")
        self._candidate()

    def _look_up_key(self, step: Step) -> str:
        """Write what computes the key by which a step looks up; return its name."""
        names, refusals = [], []
        for place, (bound, position, skips_null) in enumerate(step.sources):
            name = f"by{step.slot}_{place}"
            is_key = position < len(self._join.bindings.spaces)
            if is_key and bound == self._slot.index:
                name = f"key{position}"
            elif is_key:
                self._line(f"{name} = part{bound}.keys[{position}]")
            else:
                probe = self._join.slots[bound].memory.probes[position]
                self._line(f"{name} = {self._constants.name(probe)}(part{bound})")
                self._line(f"if type({name}) is not int and type({name}) is not str:")
                self._line(f"    {name} = hashable({name})")
                refusals.append(f"{name} is not NOWHERE")
            if skips_null:
                refusals.append(f"{name} is not None")
            names.append(name)
        if refusals:
            self._open(f"if {' and '.join(refusals)}:")
        return names[0] if len(names) == 1 else f"({', '.join(names)})"

    def _candidate(self) -> None:
        """Write what is done with one combination."""
        shape = self._shape
        limits = [f"left{i}.get(part{i}, part{i}.more['uses']) > 0" for i in sorted(shape.uses)]
        if limits:
            self._open(f"if {' and '.join(limits)}:")
        self._line("tuples += 1")
        row = "[" + ", ".join(f"part{slot.index}" for slot in self._join.slots) + "]"
        where, yields = self._join.pattern.where, self._join.pattern.yields
        body = self._join.batch.body
        if isinstance(where, Expression):
            self._open(f"if {self._texts.of(where)}:")
        elif body.where is not None:
            self._open(f"if {self._constants.name(body.where)}({row}):")
        if self._join.pattern.is_generator:
            self._line(f"values = {self._constants.name(body.yields)}({row})")
            self._open("if values:")
        elif isinstance(yields, Expression):
            self._line(f"result = {self._texts.of(yields)}")
        else:
            self._line(f"(result,) = {self._constants.name(body.yields)}({row})")
        self._line("since, until = start, end")
        for slot in self._join.slots:
            if slot is not self._slot:
                part = f"part{slot.index}"
                self._line(f"if {part}.start < since:")
                self._line(f"    since = {part}.start")
                self._line(f"if {part}.end > until:")
                self._line(f"    until = {part}.end")
        identities = "".join(
            "(source, ordinal), " if slot is self._slot else f"part{slot.index}._identity, "
            for slot in self._join.slots
        )
        depth = self._depth
        place = 0
        if self._join.pattern.is_generator:
            self._open("for place, result in enumerate(values):")
            place = "place"  # type: ignore[assignment]
        for line in (
            "event = new(EventDraft)",
            "event.value = result",
            "event.start = since",
            "event.end = until",
            "event.weight = 1",
            "event.reactive = output",
            f"event.identity = (correlation, ({identities}), {place})",
            "event.span = None",
            "event.before = ()",
            "event.__class__ = Event",
            "out.append(event)",
        ):
            self._line(line)
        self._depth = depth
        for index in sorted(shape.uses):
            self._line(f"left{index}[part{index}] = left{index}.get(part{index}, part{index}.more['uses']) - 1")

    # -- alignment -----------------------------------------------------------------------------------------------------

    def _align(self) -> None:
        """Write what the gate does: hold the event, or release a row."""
        shape, me = self._shape, self._me
        gate = shape.gate
        assert gate is not None  # Invariant: who asks for it is aligned
        spare = gate._fresh()
        vars(spare)["made"] = 1
        self._bound |= {"gate": gate, "spare": spare}
        others = [slot for slot in self._join.slots if slot is not self._slot]
        self._line("copy = gate.copies.get(())")
        self._line("held = {} if copy is None else copy.held")
        self._line("tuples = 0")
        missing = " or ".join(f"slot{slot.index} not in held" for slot in others)
        self._line(f"is_held = {missing}")
        self._open("if is_held:")
        self._line(f"{me}.number = -1")
        self._line(f"queue = held.get(slot{self._slot.index})")
        self._line(f"held = {{**held, slot{self._slot.index}: (Queue() if queue is None else queue).append({me})}}")
        self._depth -= 1
        self._open("else:")
        for slot in others:
            self._line(f"part{slot.index} = held[slot{slot.index}].head")
        depth = self._depth
        self._candidate()
        self._depth = depth
        self._line("held = {name: rest for name, queue in held.items() if (rest := queue.rest())}")
        self._depth -= 1

    def _commit_row(self) -> None:
        """Write what is kept of a released row, or of what is held."""
        shape = self._shape
        self._open("if copy is None:")
        self._line("copy = spare")
        self._line("gate.copies[()] = copy")
        self._depth -= 1
        self._line("copy.__dict__['held'] = held")
        self._open("if not held:")
        self._line("del gate.copies[()]  # as a fresh one")
        self._depth -= 1
        self._open("if not is_held:")
        self._line("number = world.number")
        assert shape.gate is not None  # as above
        for offset, slot in enumerate(shape.gate.slots["slots"], 1):
            index = slot.index
            self._line(f"part{index}.number = number + {offset}")
            self._line(f"entries{index}.clear()")
            self._line(f"entries{index}[number + {offset}] = part{index}")
        self._line(f"world.number = number + {len(self._join.slots)}")
        self._line("world.candidates += tuples")
        self._depth -= 1

    # -- changing ------------------------------------------------------------------------------------------------------

    def _commit(self) -> None:
        """Write what changes the state, none of which can fail."""
        for line in _COME:
            self._line(line)
        if self._shape.is_aligned:
            self._commit_row()
            return
        self._line("world.number = stored")
        self._line("world.candidates += tuples")
        if self._shape.stores:
            self._store()
        for index in self._shape.uses:
            self._line(f"for part, n in left{index}.items():")
            self._line("    part.uses = n")
            if index != self._slot.index:
                self._line(f"for part, places in spent{index}:")
                self._line(f"    memory{index}.take(part, places)")

    def _store(self) -> None:
        shape, index, me = self._shape, self._slot.index, self._me
        replaces = shape.rule is not None and shape.rule[0] is Meaning.NEWEST
        if not shape.is_simply_indexed:
            if replaces:
                self._line("if going is not None:")
                self._line(f"    memory{index}.take(old, going)")
            if index in shape.uses:
                self._line(f"if left{index}.get({me}, 1) > 0:")
                self._line(f"    memory{index}.put({me}, coming)")
            else:
                self._line(f"memory{index}.put({me}, coming)")
            return
        assert shape.rule is not None  # Invariant: what is simply indexed is alone under its key
        _, _, prefix = shape.rule
        if prefix:
            self._line("if old is not None:")
            self._line(f"    del entries{index}[old.number]")
            self._line(f"{self._table(index, prefix)}[{self._key_text(prefix)}] = {me}")
        else:
            self._line(f"entries{index}.clear()")
        self._line(f"entries{index}[stored] = {me}")


_COME = (
    "world.events = ordinal",
    "if end > world.latest:",
    "    world.latest = end",
    "world.steps += 1",
)
