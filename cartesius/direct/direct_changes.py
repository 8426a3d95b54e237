"""Direct changes: what a push into a table does, as the text of one function.

What the rows that it concerns were and what they are is computed, and said where it differs. A row of a join is put in
the memory, in the place of the one before; where it is mapped or filtered the table keeps it, and is asked for it. A
row of an outer join of two has the key of both its parts, or of the one that it has: a change concerns the row of its
own key. Other joins are those of `direct_trees`.

This module is over 300 lines because what a change does to one table, to a join, and to what is told of it, has one
writer.

Invariant: what it computes is what the clauses, the enumeration and `views.View` would have computed.

Source: DESIGN 4; SEMANTICS 1.10 and 2.1 to 2.6.
"""

from __future__ import annotations

from abc import abstractmethod
from functools import partial
from typing import TYPE_CHECKING, Any, ClassVar, Final, Unpack

from cartesius.direct.direct_shapes import run_as_written, standing
from cartesius.direct.direct_texts import WRAP, DirectText, event_text, widen
from cartesius.expressions.value_functions import as_held
from cartesius.language.reactives import Undeclared
from cartesius.plan.nodes import OF_JOINS, Announce, AsTable, May, Now, Recall, TakeBack, Upsert, Visit
from cartesius.programs.doors import checked_value
from cartesius.results.outputs import Events
from cartesius.results.views import View
from cartesius.storage.conservation import Fate
from cartesius.storage.row_memories import RowMemory

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from cartesius.correlations.join_shape import Join
    from cartesius.data.events import Event
    from cartesius.direct.direct_texts import Link, Make
    from cartesius.language.families import Slot
    from cartesius.programs.programs import Program

_OF_ONE: Final = frozenset({TakeBack, AsTable, Recall})
_OF_ROWS: Final = frozenset({TakeBack, AsTable, Upsert})
_OF_CHANGES: Final = frozenset({Announce, Now, Visit})
_EXACT: Final = frozenset((int, str, bool, float, bytes, type(None)))


def is_exact(key: Any) -> bool:
    """Whether what an index finds by a key is what equals it; a tuple of one may stand for what has no place in it."""
    kind = type(key)
    return kind in _EXACT or (kind is tuple and len(key) != 1 and _EXACT.issuperset(map(type, key)))


def as_mentioned(changes: Iterable[Event], numbers: Mapping[Any, int]) -> list[Event]:
    """Return changes of one batch as a view tells them: of the rows that were there first, each time newest first."""
    return sorted(
        reversed([*changes]), key=lambda one: (not one.before, -numbers.get(one.identity[1], 0) if one.before else 0)
    )


class DirectChange(DirectText):
    """The function of one table, and its text."""

    identity = "source"
    row_key: ClassVar[str] = "key"
    _if_update: str = "if type(value) is Update:"  # whether there is a new row
    _is_numbered = True

    def __init__(self, join: Join, slot: Slot, **link: Unpack[Link]) -> None:
        super().__init__(join, slot, **link)
        self._scope |= {"checked": partial(checked_value, slot.reactive), "is_exact": is_exact}
        self._scope |= {"as_mentioned": as_mentioned}

    def _prepare(self) -> None:
        self._lines.add("tuples = 0")

    def _found_out(self) -> list[str]:
        return ["number", "tuples"]

    def _take_in(self) -> None:
        """Write what brings the change into form."""
        if not self._of_results:
            self._lines.add("""
                if type(value) is not Update or (type(value.key) is not int and type(value.key) is not str):
                    value = checked(value)
            """)
        self._lines.add("key = value.key")

    def _row(self) -> None:
        """Write what makes the new row of an update."""
        self._lines.add("value = value.value")
        self._lines.add(WRAP)
        self._number()

    def _number(self) -> None:
        self._entry()
        self._lines.add(
            f"{self._part}.number = number" if self._reads else f"{self._part}.number = number = number + 1"
        )

    def _tell(self, key: str, others: Iterable[str] = ()) -> None:
        """Write what says that a row has changed, at the hull of its other parts and of the change."""
        with self._lines.under("if old is nothing or now is nothing or not is_unchanged(old, now):"):
            self._lines.add("since, until = start, end")
            self._lines.add(f"if now is nothing:\n    change = Delete({key})")
            with self._lines.under("else:"):
                self._lines.add(f"change = Update({key}, now)")
                widen(self._lines, others, may_miss=True)
            before = "() if old is nothing else (old,)"
            self._lines.add(event_text("change", ("since", "until"), f"(output, {key})", before))


# -- rows that are mapped or filtered ----------------------------------------------------------------------------------


def mapping_of(program: Program, join: Join, *, is_followed: bool) -> Make | str:
    """Return what makes the function of the only table of a correlation, or why it needs all of the handlers."""
    (slot,) = join.slots
    if strange := run_as_written(join, _OF_ONE):
        return strange
    keys = [one.node.key for one in join.installed if isinstance(one.node, AsTable)]
    is_known = len(join.installed) == len(_OF_ONE) and keys in ([slot.name], [(slot.name,)])
    if not is_known or type(join.batch.output) is not View or join.pattern.is_generator or join.bindings.spaces:
        return "its results are not the rows of one table, each by itself"
    if slot.kept is None:
        return "its rows are kept nowhere else"
    return standing(program, join, is_followed=is_followed) or partial(MappingChange, join, slot)


class MappingChange(DirectChange):
    """The function of a table whose rows are mapped or filtered one by one, and which keeps them itself."""

    _as_they_come: ClassVar[bool] = False  # whether changes of one batch are told in the order in which they come

    def __init__(self, join: Join, slot: Slot, **link: Unpack[Link]) -> None:
        super().__init__(join, slot, **link)
        self._scope |= {"kept": slot.kept}

    def _before_all(self) -> None:
        if self.join.batch.rank.is_oldest_first != self._as_they_come:
            super()._before_all()

    def _after_all(self) -> None:
        self._lines.add("" if self._as_they_come else "if len(out) > 1:\n    out = as_mentioned(out, {})")

    def _found_out(self) -> list[str]:
        return [*super()._found_out(), "is_change"]

    def _find_out(self) -> None:
        lines = self._lines
        self._take_in()
        lines.add("" if self._of_results else "before = kept.row(key)")  # a change says itself what was there
        with lines.under("if type(value) is Update:"):
            lines.add("value = row = value.value")
            lines.add("if type(row) not in plain:\n    value = row = wrap(row)")
            lines.add("is_change = not before or not is_unchanged(before[0], row)")
        lines.add("else:\n    row = ABSENT\n    is_change = bool(before)")
        with lines.under("if is_change:"):
            self._say()

    def _say(self) -> None:
        """Write what is said of a change."""
        self._lines.add("old = now = nothing")
        for condition, text, name in (
            ("if before:", "value = wrap(before[0])", "old"),
            ("if row is not ABSENT:", "value, tuples = row, 1", "now"),
        ):
            with self._lines.under(condition):
                self._lines.add(text)
                self._number()
                with self._lines.under(self._if_there):
                    self._lines.add(f"{name} = yields([{self._part}])[0]")
        with self._lines.under("if old is not nothing or now is not nothing:"):
            self._tell("key")

    @property
    def _if_there(self) -> str:
        return "" if self.join.batch.body.where is None else f"if where([{self._part}]):"

    def _change(self) -> None:
        self._lines.add(f"""
            world.number = number
            world.candidates += tuples
            {"" if self._of_results else "kept.keep(key, row)"}
            {self._count(Fate.DELIVERED)}
            if is_change:
                {self._count(Fate.EXPIRED)}
            else:
                {self._count(None)}
        """)


def announcing_of(program: Program, join: Join, *, is_followed: bool) -> Make | str:
    """Return what makes the function of a table whose changes become a stream, or why it needs the handlers."""
    (slot,) = join.slots
    if strange := run_as_written(join, _OF_CHANGES):
        return strange
    if not any(isinstance(one.node, Now) for one in join.installed) or type(join.batch.output) is not Events:
        return "its results are not the changes of one table"
    if join.pattern.is_generator or join.bindings.spaces or slot.kept is None:
        return "its rows are kept nowhere else, or a change gives several results"
    return standing(program, join, is_followed=is_followed) or partial(AnnouncingChange, join, slot)


class AnnouncingChange(MappingChange):
    """The function of a table of whose changes a stream is made, and its text."""

    _as_they_come = True

    def __init__(self, join: Join, slot: Slot, **link: Unpack[Link]) -> None:
        super().__init__(join, slot, **link)
        self._tells_steps = True

    def _say(self) -> None:
        self._lines.add("""
            if row is ABSENT:
                value = Delete(key, None if value.row is None else wrap(value.row))
            else:
                value = Update(key, row)
            tuples = 1
        """)
        self._number()
        with self._lines.under(self._if_there):
            self._lines.add(f"result = yields([{self._part}])[0]")
            identity = "(correlation, ((source, key), ), step, (number, ), 0)"  # a row comes again
            self._lines.add(event_text("result", ("start", "end"), identity))


# -- joins -------------------------------------------------------------------------------------------------------------


def optional_slots(join: Join) -> frozenset[int]:
    """Return the slots of which there may be no row."""
    return frozenset(named.index for one in join.installed if isinstance(one.node, May) for named in one.named)


def why_as_written(program: Program, join: Join, slot: Slot, *, is_followed: bool) -> str:
    """Say why a push into a table of a join needs all of the handlers, whatever rows it concerns; "" if it may not."""
    if strange := run_as_written(join, OF_JOINS):
        return strange
    if type(join.batch.output) is not View:
        return "its results are not the rows of a join of tables"
    if any(type(one.memory) is not RowMemory for one in join.slots):
        return "not all slots are bound to tables"
    pattern, bindings = join.pattern, join.bindings
    if pattern.is_generator or bindings.spaces or len(pattern.conditions) != len(bindings.links):
        return "its rows are not found by equalities alone"
    return standing(program, join, is_followed=is_followed, may_share=True)


class JoinChange(DirectChange):
    """The function of one table of a join, and its text."""

    @abstractmethod
    def _find_places(self, row: str, places: str) -> None:
        """Write what finds the places of a row in the indexes; the row ``before`` is there."""

    @abstractmethod
    def _find_rows(self) -> None:
        """Write what finds the rows of the join that the change concerns, and what becomes of each (`_tell`)."""

    def _prepare(self) -> None:
        super()._prepare()
        self._lines.add(f"{self._part} = coming = going = None")
        self._begin()

    def _found_out(self) -> list[str]:
        looked = [f"visited{other}" for other in self._others]
        return [*super()._found_out(), self._part, "before", "coming", "going", *looked]

    def _find_out(self) -> None:
        part = self._part
        self._take_in()
        self._lines.add(f"""
            if type(key) is not int and type(key) is not str and (is_null(key) or not is_exact(key)):
                raise LeftToClauses("a key is null, or no plain value")
            before = memory{self._own}.row(key)
        """)
        self._tell_apart()
        with self._lines.under("if before is not None:"):
            self._find_places("before", "going")
        with self._lines.under(self._if_update):
            self._row()
            self._leave_without_keys("a row has no key, and is set aside")
            self._find_places(part, "coming")
        with self._lines.under(f"if {part} is not None or before is not None:"):
            self._find_rows()

    def _tell_apart(self) -> None:
        """Write that of several results of one batch the newest of each row counts."""
        self._lines.add("")

    def _change(self) -> None:
        self._count_visits()
        self._lines.add("""
            world.number = number
            world.candidates += tuples
        """)
        if self._reads:
            return
        self._lines.add(f"""
            if {self._part} is not None:
                memory{self._own}.put({self._part}, coming)
            else:
                {self._count(Fate.EXPIRED)}
            if before is not None:
                {self._count(Fate.REPLACED)}
                memory{self._own}.take(before, going)
            else:
                {self._count(Fate.DELIVERED)}
        """)


def rows_of(program: Program, join: Join, slot: Slot, *, is_followed: bool) -> Make | str:
    """Return what makes the function of a stream whose events are made rows, or why it needs all of the handlers."""
    if strange := run_as_written(join, _OF_ROWS):
        return strange
    keys = [one.node.key for one in join.installed if isinstance(one.node, AsTable)]
    if len(join.installed) != len(_OF_ROWS) or keys not in ([slot.name], [(slot.name,)]):
        return "its results are not the rows that its events are made"
    pattern, bindings = join.pattern, join.bindings
    if type(join.batch.output) is not View or pattern.is_generator or bindings.spaces or slot.memory.parts()[1]:
        return "its results are not the rows of one table, each by itself"
    return standing(program, join, is_followed=is_followed) or partial(RowChange, join, slot)


class RowChange(JoinChange):
    """The function of a stream whose events are made rows, each in the place of that of its key, and its text."""

    def __init__(self, join: Join, slot: Slot, **link: Unpack[Link]) -> None:
        super().__init__(join, slot, **link)
        self._by: Any = next(one.node.key for one in join.installed if isinstance(one.node, Upsert))
        if not isinstance(self._by, Undeclared):
            self._if_update = ""
        if slot.memory.finds:  # it may be taken back, and is known by what it was
            self.identity = "identity" if self._follows else DirectText.identity

    def _take_in(self) -> None:
        if isinstance(self._by, Undeclared):  # its values are changes
            self._lines.add("""
                if type(value) is not Update and type(value) is not Delete:
                    raise LeftToClauses("a value is no change")
                key = value.key
            """)
            return
        self._lines.add(WRAP)
        if isinstance(self._by, str):
            read = self._texts.field("value", self._by)
        else:
            read = f"{self._constants.name(as_held(self._by))}(value)"
        self._lines.add(f"key = {read}")

    def _before_all(self) -> None:
        if self.join.batch.rank.is_oldest_first or isinstance(self._by, Undeclared):
            super()._before_all()
        self._lines.add("oldest, newest, numbers = {}, {}, {}")
        with self._lines.under("if len(results) > 1:"), self._lines.under("for result in results:"):
            self._lines.add("value = result.value")
            self._take_in()
            self._lines.add("""
                if key != key:
                    raise LeftToClauses("a key is null, or no plain value")
                oldest.setdefault(key, result)
                newest[key] = result
            """)

    def _after_all(self) -> None:
        self._lines.add("if len(out) > 1:\n    out = as_mentioned(out, numbers)")

    def _tell_apart(self) -> None:
        if self._follows:
            self._lines.add("numbers[key] = 0 if before is None else before.number")
            with self._lines.under("if newest and newest[key] is not result:"):
                self._lines.add("number += 1")
                self._leave_if("True", self._count(Fate.REPLACED))

    def _row(self) -> None:
        if isinstance(self._by, Undeclared):
            super()._row()
        else:
            self._number()

    def _find_places(self, row: str, places: str) -> None:
        self._lines.add(f"{places} = ()")

    def _find_rows(self) -> None:
        self._lines.add("old = now = nothing")
        asks = self.join.batch.body.where is not None
        for row, value in (("before", "old"), (self._part, "now")):
            with self._lines.under(f"if {row} is not None{f' and where([{row}])' if asks else ''}:"):
                self._lines.add(f"{value} = yields([{row}])[0]")
        self._lines.add(f"tuples += {self._part} is not None")
        with self._lines.under("if old is not nothing or now is not nothing:"):
            self._lines.add(f"shown = before if old is not nothing else {self._part}")  # 1 and 1.0 are one key
            if self._follows:  # the first result of a row is what has taken the row away that was there
                self._lines.add("""
                    first = None if old is nothing else oldest.get(key)
                    if first is not None and now is nothing:
                        start, end = first.start, first.end
                """)
            self._tell("shown.row_key", ["first"] if self._follows else [])


def outer_of(program: Program, join: Join, slot: Slot, *, is_followed: bool) -> Make | str:
    """Return what makes the function of one of two tables, or why it needs all of the handlers."""
    if reason := why_as_written(program, join, slot, is_followed=is_followed):
        return reason
    keys = [(one.restriction, one.node.key) for one in join.installed if isinstance(one.node, AsTable)]
    keyed = [join.bindings.find(key, one)[0].index for one, names in keys if isinstance(names, tuple) for key in names]
    is_pair = len(join.slots) == len(join.bindings.links) + 1 == 2 and len(keys) == 1 and sorted(keyed) == [0, 1]
    if not is_pair or any(one.memory.parts()[1] for one in join.slots):
        return "not every row is found by its key"
    return partial(OuterChange, join, slot, keyed[0])


class OuterChange(JoinChange):
    """The function of one of two tables of which either may have no row, and its text.

    Where a row of the join has both parts it has the key of that of the ``first`` slot.
    """

    def __init__(self, join: Join, slot: Slot, first: int, **link: Unpack[Link]) -> None:
        super().__init__(join, slot, **link)
        self._is_first = first == slot.index

    def _find_places(self, row: str, places: str) -> None:
        find = "places_of" if row == "before" else "places"
        self._lines.add(f"{places} = memory{self._own}.{find}({row})")

    def _find_rows(self) -> None:
        (other,) = self._others
        self._lines.add(f"""
            old = now = nothing
            other = memory{other}.row(key)
            if other is not None:
                visited{other} += 1
        """)
        for row, value in (("before", "old"), (self._part, "now")):
            parts = f"{row}, other" if self._own == 0 else f"other, {row}"
            self._lines.add(f"if {row} is not None or other is not None:\n    {value} = yields([{parts}])[0]")
        self._lines.add(f"""
            tuples += now is not nothing
            there = before if old is not nothing else {self._part}
            shown = {"there or other" if self._is_first else "other or there"}
        """)
        self._tell("shown.row_key", ["other"])
