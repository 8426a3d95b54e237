"""Restrictions: small classes that steer the enumeration of a correlation.

Annotated fields are configuration (plain data, part of a saved state's fingerprint), `state` fields are parameters
(plain data or events, replaced and never mutated; one copy a key; saved; restored on failure), clauses name a family
and the field that holds its slots. ``a | b`` composes; the right-most sees an operation first.

Arguments follow the annotations in order: fields before a `Slots` field are positional, the `Slots` field takes the
positional rest, and what follows it or has a default is keyword-only.

This module is over 300 lines because what a user's class may say of itself stands in one place.
"""

from __future__ import annotations

from copy import copy
from datetime import timedelta
from functools import cached_property
from types import GetSetDescriptorType, MemberDescriptorType
from typing import TYPE_CHECKING, Any, ClassVar, NoReturn, Protocol, overload

from cartesius.data.events import EARLIEST
from cartesius.data.value_texts import shown
from cartesius.effects.handlers import Handler
from cartesius.errors import InvalidArgument
from cartesius.expressions.value_functions import as_held, of_value
from cartesius.language.annotations import is_absent, kind_of
from cartesius.language.families import Family, Slot, arrive, select
from cartesius.language.lenience import lenient
from cartesius.language.reactives import Reactive
from cartesius.plan.nodes import Node, Opaque, Transduce

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping, Sequence
    from typing import Literal

    from cartesius.data.entries import Entry
    from cartesius.data.events import Time, Window


class State:
    """A parameter of a restriction, with the value that a fresh copy has."""

    __slots__ = ("initial",)

    def __init__(self, initial: object) -> None:
        self.initial = initial

    def __repr__(self) -> str:
        """Show it as it is written."""
        return f"state({self.initial!r})"


def state(initial: object = None) -> Any:
    """Declare a parameter of a `Restriction`: plain data or events, replaced and never mutated; one copy a key.

    What is changed in place, rather than replaced, is not undone when a push fails.

    >>> from cartesius import Restriction, state
    >>> class counting(Restriction):
    ...     seen = state(0)
    """
    return State(initial)


_REQUIRED: Any = object()


class Composable:
    """What is composed by ``|``, and by nothing that looks as if it did so as well."""

    __slots__ = ()

    def __bool__(self) -> NoReturn:
        """Refuse `and`, `or` and `not`, which would leave one of two restrictions out."""
        message = (
            f"restrict: expected restrictions composed by | but {self!r} was asked whether it is true, as `and`, `or`"
            " and `if` do; write a | b, and `is None` to ask whether there is one"
        )
        raise InvalidArgument(message)

    def __and__(self, other: object) -> NoReturn:
        """Refuse ``&``."""
        message = f"restrict: expected restrictions composed by | but got {self!r} & {shown(other)}; write a | b"
        raise InvalidArgument(message)


class Composition(Composable):
    """Restrictions side by side, outermost first; built by ``|``."""

    __slots__ = ("restrictions",)

    def __init__(self, restrictions: tuple[Restriction, ...]) -> None:
        self.restrictions = restrictions

    @overload
    def __or__(self, inner: Tabling) -> TableComposition: ...

    @overload
    def __or__(self, inner: Composition | Restriction) -> Composition: ...

    def __or__(self, inner: Any) -> Composition:
        """Compose: ``inner`` sees an operation first."""
        return Composition((*self.restrictions, *parts_of(inner)))

    def __eq__(self, other: object) -> bool:
        """Equal restrictions in the same order."""
        return isinstance(other, Composition) and self.restrictions == other.restrictions

    def __hash__(self) -> int:
        """Agree with equality."""
        return hash(len(self.restrictions))

    def __repr__(self) -> str:
        """Show the composition as written."""
        return " | ".join(map(repr, self.restrictions)) or "identity"


if TYPE_CHECKING:  # at run time the plan of a restriction says whether it makes a table

    class Tabling(Protocol):
        """What makes the results rows of a table: `as_table`, or a composition with it."""

        @property
        def makes_table(self) -> Literal[True]:
            """That it does."""
            ...

    class TableComposition(Composition):
        """A composition that makes the results rows of a table."""

        @property
        def makes_table(self) -> Literal[True]:
            """That it does."""
            ...

        def __or__(self, inner: object) -> TableComposition:
            """Compose."""
            ...


class Restriction(Composable, Handler):
    """Base of restrictions: annotate the configuration, declare `state`, mark clauses with `handles` and `controls`.

    A subclass may also override `validate` (checks the configuration), `check` (checks the composition) and `plan`:
    what it means, as nodes. Then the faster tiers run it without its clauses, `explain` knows what bounds its memory,
    what it holds back and on which order it relies, and Spark may split it by key. One whose plan is not said is
    `Opaque`: its clauses are run as written, and where nothing is said the safe assumption is made. One with slots
    that are ``Absent`` says by `due` and `needs` how long their events are kept.

    >>> from cartesius import Restriction, Slots, displace, forward, handles, memory, push
    >>> class newest(Restriction):
    ...     slots: Slots
    ...
    ...     @handles(push, "slots")
    ...     def replace(self, slot, entry):
    ...         for older in memory(slot)[1:]:
    ...             displace(slot, older)
    ...         forward(slot, entry)
    >>> newest("x", "y")
    newest('x', 'y')

    Raises:
        InvalidArgument: Arguments that do not fit the annotations.
    """

    _fields: ClassVar[Mapping[str, str]] = {}
    _defaults: ClassVar[Mapping[str, Any]] = {}
    _states: ClassVar[Mapping[str, Any]] = {}
    _marks: ClassVar[Sequence[tuple[str, Any, tuple[str, ...], bool]]] = ()
    _absent: ClassVar[frozenset[str]] = frozenset()  # the fields whose slots never have a part
    configuration: Mapping[str, Any]

    def __init_subclass__(cls, **keywords: object) -> None:
        """Read the annotations."""
        super().__init_subclass__(**keywords)
        fields, defaults, states = dict(cls._fields), dict(cls._defaults), dict(cls._states)
        absent = set(cls._absent)
        for name, value in vars(cls).items():
            if isinstance(value, State):
                states[name] = value.initial
        for name, annotation in vars(cls).get("__annotations__", {}).items():
            if "ClassVar" in str(annotation) or name in states or name == "configuration":
                continue
            fields[name] = kind_of(annotation)
            absent = {*absent, name} if is_absent(annotation) else absent - {name}
            if name in vars(cls):
                defaults[name] = vars(cls)[name]
        clash = next(
            (
                n
                for n in (*fields, *states)
                if callable(found := getattr(Restriction, n, None)) or type(found) is cached_property
            ),
            None,
        )
        if clash is not None:
            message = (
                f"{cls.__name__}: expected fields with names of their own but {clash!r} is a method of Restriction;"
                " give the field another name"
            )
            raise InvalidArgument(message)
        cls._fields, cls._defaults, cls._states, cls._absent = fields, defaults, states, frozenset(absent)
        cls._marks = [(method, *mark) for method, marks in cls._clause_methods.items() for mark in marks]

    def __init__(self, *arguments: Any, **keywords: Any) -> None:
        call = type(self).__name__
        values: dict[str, Any] = {}
        rest = list(arguments)
        required = [name for name in self._fields if name not in self._defaults]
        for name in required:
            if self._fields[name] == "slots":
                values[name] = tuple(rest)
                rest = []
                break
            if rest:
                values[name] = rest.pop(0)
        unknown = [name for name in keywords if name not in self._fields or name in values]
        if unknown or rest:
            given = ", ".join([*map(repr, rest), *(f"{name}=" for name in unknown)])
            by_name = [name for name in self._defaults if name not in keywords]
            fix = f"give what has a default by its name, as in {by_name[0]}=…" if rest and by_name else "remove it"
            message = f"{call}: expected the arguments ({self._usage()}) but got {given} besides; {fix}"
            raise InvalidArgument(message)
        values = {**self._defaults, **keywords, **values}
        missing = [name for name in self._fields if name not in values]
        if missing:
            message = f"{call}: expected the arguments ({self._usage()}) but {missing[0]} is missing"
            raise InvalidArgument(message)
        vars(self)["configuration"] = configuration = {name: values[name] for name in self._fields}
        for name, value in configuration.items():
            self._check_slot(name, value)
            self._check_plain(name, value)
        vars(self).update(self._values_of(configuration))
        self.validate()

    @classmethod
    def _values_of(cls, configuration: Mapping[str, Any]) -> dict[str, Any]:
        """Return what the fields hold of a configuration: functions that trace take null as a body does."""
        return {
            name: of_value(value) if cls._fields[name] == "function" else as_held(value)
            for name, value in configuration.items()
        }

    def __setattr__(self, name: str, value: object) -> None:
        """Let clauses change what is declared as `state` alone: the rest would be lost, or shared by keys."""
        if name not in self._states:
            declared = ", ".join(self._states) or "none"
            message = (
                f"{type(self).__name__}: expected an assignment to a state but got {name} = {value!r}; the states are"
                f" {declared}; declare it in the class: {name} = state(…)"
            )
            raise InvalidArgument(message)
        vars(self)[name] = value

    def _check_slot(self, name: str, value: Any) -> None:
        kind = self._fields[name]
        named = {"slot": (value,), "slots": value}.get(kind, ())
        if kind == "slots" and not named:
            message = f"{type(self).__name__}: expected slots, by variable name or reactive, in {name} but got none"
            raise InvalidArgument(message)
        for slot in named:
            if not isinstance(slot, str | Reactive):
                message = (
                    f"{type(self).__name__}: expected a slot, by variable name or reactive, but got {name}={slot!r}"
                    f" (type={type(slot).__name__})"
                )
                raise InvalidArgument(message)

    def _check_plain(self, name: str, value: Any) -> None:
        if self._fields[name] == "function" and not callable(value):
            message = (
                f"{type(self).__name__}: expected a function but got {name}={value!r} (type={type(value).__name__})"
            )
            raise InvalidArgument(message)
        is_units = isinstance(value, int) and not isinstance(value, bool)
        if value is None and self._defaults.get(name, value) is None and name in self._defaults:
            return  # Duration | None = None
        if self._fields[name] == "duration" and not is_units and not isinstance(value, timedelta):
            message = (
                f"{type(self).__name__}: expected a duration, an int of time units or a timedelta, but got"
                f" {name}={value!r} (type={type(value).__name__})"
            )
            raise InvalidArgument(message)

    def _usage(self) -> str:
        shown, is_keyword = [], False
        for name, kind in sorted(self._fields.items(), key=lambda field: field[0] in self._defaults):
            if name in self._defaults:
                shown.append(f"{name}={self._defaults[name]!r}")
            else:
                shown.append(f"*{name}" if kind == "slots" else f"{name}=…" if is_keyword else name)
            is_keyword = is_keyword or kind == "slots"
        return ", ".join(shown)

    def plan(self) -> tuple[Node, ...]:
        """Say what it means, as `nodes`, outermost first; override it, so that whoever runs no clauses knows it too.

        By default it is `Opaque`: what is safe of any clauses. A subclass that adds methods, and does not say its own
        plan, means what its base does and something besides that is `Opaque`.
        """
        return (Opaque(),)

    @cached_property
    def nodes(self) -> tuple[Node, ...]:
        """What it means: its `plan`, and, if it does more than the class that says it, something `Opaque`."""
        planned, adds = self.plan(), _adds_to_plan(type(self))
        if not isinstance(planned, tuple) or not all(isinstance(one, Node) for one in planned) or not planned:
            message = (
                f"{type(self).__name__}: expected plan() to return a tuple of nodes, as in (Opaque(),), but it returned"
                f" {shown(planned)}"
            )
            raise InvalidArgument(message)
        for one in planned:
            if isinstance(one, Transduce) and not adds:
                self._check_says_all(one)
        found = (*planned, Opaque()) if adds else planned
        chooses = any(family is select for _, family, _, _ in self._marks)
        return tuple([one.of_clauses(chooses=chooses) if isinstance(one, Opaque) else one for one in found])

    def _check_says_all(self, said: Transduce) -> None:
        """Raise `InvalidArgument` unless a transducer can say all that the clauses do."""
        clauses = [method for method, *_ in self._marks]
        is_all = [family for _, family, _, _ in self._marks] == [arrive] and [*self._states] == [said.variable]
        if not is_all:
            message = (
                f"{type(self).__name__}: expected what says Transduce(variable={said.variable!r}) to have that one"
                f" state, and one clause, for arrive, but it has the states {', '.join(self._states) or 'none'} and the"
                f" clauses {', '.join(clauses) or 'none'}; say Opaque"
            )
            raise InvalidArgument(message)

    def validate(self) -> None:
        """Check the configuration when the restriction is made; override to raise `InvalidArgument`."""

    def check(self, slots: Mapping[str, tuple[Slot, ...]], others: tuple[Restriction, ...]) -> None:
        """Check the composition when a correlation is built; ``slots`` holds the bound slots of each slot field."""

    def leniently(self) -> Restriction:
        """Return the restriction with its configuration lenient, as far as it can be (`lenience`)."""
        configuration = {name: lenient(value) for name, value in self.configuration.items()}
        if all(configuration[name] is value for name, value in self.configuration.items()):
            return self
        found = copy(self)
        vars(found).update(self._values_of(configuration), configuration=configuration)
        vars(found).pop("nodes", None)
        return found

    def parts(self) -> tuple[Restriction, ...]:
        """Return what it stands for where it is written, outermost first: itself, and maybe others inside."""
        return (self,)

    def shows(self) -> Callable[[Any], Any] | None:
        """Return how what is kept of an event in a window is shown; None: as it is."""
        return None

    def due(self, slot: Slot, entry: Entry) -> Time | None:
        """Say, if it `settles`, the time after which nothing can match ``entry`` any more."""
        return None

    def own_floor(self) -> Time:
        """Say, of a gate that `is_common`, before which end it lets nothing through any more."""
        return EARLIEST

    def closed_at(self, window: Window) -> Time:
        """Say, if it opens windows, the clock at which one is closed: nothing that comes in time is in it any more."""
        end: Time = window.end
        return end

    def times_of(self, window: Window) -> tuple[Time, ...]:
        """Say, if it opens windows, for which deadlines nothing of a window may be held back: closing and freeing."""
        return (self.closed_at(window) - 1,)

    def yet_to_come(self) -> Iterable[Entry]:
        """Say, if it opens windows, what waits for its batch, and is not in any window so far."""
        return ()

    def may_give(self, *, is_shown: bool, is_awaited: bool) -> bool:
        """Say, of a copy that has asked for a tick, whether that may give anything if no event comes any more.

        Args:
            is_shown: Whether an entry in memory is a result, as where relations are reported, or one that leaves is.
            is_awaited: Whether something comes when an entry has expired: its row without a partner, or a relation.
        """
        return True

    def waits_for(self, time: int) -> tuple[Slot, ...]:
        """Say which of the slots of ``floors_of`` the deadline at ``time`` waits for; the empty tuple: for all."""
        return ()

    def needs(self, entry: Entry, absent: Entry) -> bool:
        """Say, if it has ``absent`` slots, whether that event may decide about a row with ``entry`` of an anchor."""
        return False

    @overload  # type: ignore[override]  # not a handler, but what makes handlers
    def __or__(self, inner: Tabling) -> TableComposition: ...

    @overload
    def __or__(self, inner: Composition | Restriction) -> Composition: ...

    def __or__(self, inner: Any) -> Composition:
        """Compose: ``inner`` sees an operation first."""
        return Composition((*self.parts(), *parts_of(inner)))

    def __eq__(self, other: object) -> bool:
        """Equal class and configuration."""
        return type(self) is type(other) and self.configuration == other.configuration

    def __hash__(self) -> int:
        """Agree with equality."""
        return hash(type(self))

    def __repr__(self) -> str:
        """Show the restriction as written."""
        shown = []
        after = False
        for name, kind in sorted(self._fields.items(), key=lambda field: field[0] in self._defaults):
            value = self.configuration[name]
            if name in self._defaults and _is_default(value, self._defaults[name]):
                continue
            if kind == "slots":
                shown += [_show_slot(slot) for slot in value]
                after = True
            else:
                text = _show_slot(value)
                shown.append(f"{name}={text}" if after or name in self._defaults else text)
        return f"{type(self).__name__}({', '.join(shown)})"


def of_subclasses_too(plan: Callable[[Any], tuple[Node, ...]]) -> Callable[[Any], tuple[Node, ...]]:
    """Mark the plan of a base whose subclasses define what it leaves open, and so mean it, too."""
    plan.of_subclasses_too = True  # type: ignore[attr-defined]  # functions have attributes
    return plan


def _adds_to_plan(cls: type[Restriction]) -> bool:
    """Whether a class, or a base below the one that says its plan, has methods that this one does not know."""
    lines = cls.__mro__
    owner = next(place for place, one in enumerate(lines) if "plan" in vars(one))
    if lines[owner] is Restriction or hasattr(lines[owner].plan, "of_subclasses_too"):  # type: ignore[attr-defined]  # it is there
        return False
    return any(
        isinstance(value, type)
        or (hasattr(type(value), "__get__") and not isinstance(value, MemberDescriptorType | GetSetDescriptorType))
        for one in lines[:owner]
        for name, value in vars(one).items()
        if name not in _SAYING_NOTHING
    )


_SAYING_NOTHING = frozenset({"validate", "check", "__init__", "__repr__"})


def parts_of(restriction: Composition | Restriction | None) -> tuple[Restriction, ...]:
    """Return the restrictions of a composition, outermost first."""
    if restriction is None:
        return ()
    if isinstance(restriction, Composition):
        return restriction.restrictions
    if isinstance(restriction, Restriction):
        return restriction.parts()
    message = (
        f"restrict: expected restrictions composed by | but got {restriction!r} (type={type(restriction).__name__})"
    )
    if isinstance(restriction, type) and issubclass(restriction, Restriction):
        message += f"; call it: {restriction.__name__}(...)"
    elif isinstance(restriction, list | tuple) and all(isinstance(one, Composable) for one in restriction):
        message += f"; write {' | '.join(map(repr, restriction))}"
    raise InvalidArgument(message)


def slot_families(restriction: Restriction) -> Sequence[tuple[str, Family, tuple[str, ...], bool]]:
    """Return (method, family, slot fields, is ctl) for each clause of ``restriction``."""
    return restriction._marks


def _is_default(value: object, default: object) -> bool:
    """Whether a value is the default. What is the user's is not compared: its ``==`` may raise, or mean anything."""
    is_plain = type(value) is type(default) and type(value) in (int, float, str, bytes, bool, tuple, timedelta)
    return value is default or (is_plain and value == default)


def _show_slot(value: object) -> str:
    return value.name if isinstance(value, Reactive) else shown(value)
