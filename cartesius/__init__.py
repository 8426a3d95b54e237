"""Cartesius: a stream join is a restriction of the cartesian product of its inputs.

Rooms, each standing on those before it, be it for types alone:

- `drawing`: tables and pictures for people
- `effects`: operations, handlers, coroutines; `data`: plain data; `automata`: registers; `expressions`: what is traced
- `storage`: what a slot keeps; `language`: what users write; `results`: what the yields become
- `rows`: combinations of entries; `batching`: one step of a correlation; `correlations`: its restrictions at work
- `order`: which order results depend on; `facts`: what can be said before anything runs
- `programs`: `correlate`, a program and its steps; `direct`: pushes as one function
- `core`: calls, all or nothing
- `columns`: batches of columns; `tracking`: bounded sequences; `pages`, `show`: a recorded trace on a page
- `engines`: the engine; `equivalence`: of two streams
- `connectors`: files and Kafka, sources and sinks in process, and what runs a program between them

Beside them `errors`, `pictures`, `testing` and `transducers`, which users import from, `installation`, which says
what is missing, and `locks` on files.
"""

from typing import TYPE_CHECKING

from .data.codec import storable as storable
from .data.entries import Entry as Entry
from .data.events import Delete as Delete
from .data.events import Event as Event
from .data.events import Update as Update
from .data.events import Window as Window
from .effects.handlers import Handler as Handler
from .effects.handlers import controls as controls
from .effects.handlers import handle as handle
from .effects.handlers import handles as handles
from .effects.operations import Implicit as Implicit
from .effects.operations import Operation as Operation
from .effects.operations import forward as forward
from .engines.engine import Engine as Engine
from .engines.frame_runs import run_frames as run_frames
from .engines.traces import run as run
from .errors import CartesiusError as CartesiusError
from .expressions.null_functions import coalesce as coalesce
from .expressions.null_functions import is_missing as is_missing
from .installation import warn_of_namesakes
from .language.clauses import expire as expire
from .language.clauses import memory as memory
from .language.clauses import pause as pause
from .language.clauses import play as play
from .language.clauses import set_aside as set_aside
from .language.families import Absent as Absent
from .language.families import Duration as Duration
from .language.families import Slot as Slot
from .language.families import Slots as Slots
from .language.families import arrive as arrive
from .language.families import displace as displace
from .language.families import ended as ended
from .language.families import push as push
from .language.families import select as select
from .language.families import start as start
from .language.families import tick as tick
from .language.families import withdraw as withdraw
from .language.lists import each as each
from .language.lists import one_or_more as one_or_more
from .language.lists import repeated as repeated
from .language.lists import successive as successive
from .language.matches import Match as Match
from .language.orders import ordered as ordered
from .language.orders import unordered as unordered
from .language.reactives import Reactive as Reactive
from .language.restriction_base import Restriction as Restriction
from .language.restriction_base import state as state
from .plan.reliance import Reliance as Reliance
from .programs.correlating import correlate as correlate
from .programs.correlating import restricting as restricting
from .rows.clock_clauses import notify_at as notify_at

__all__ = [
    "CartesiusError",
    "Delete",
    "Duration",
    "Engine",
    "Entry",
    "Event",
    "Handler",
    "Implicit",
    "Match",
    "Operation",
    "Reactive",
    "Reliance",
    "Restriction",
    "Slot",
    "Slots",
    "Update",
    "Window",
    "arrive",
    "coalesce",
    "controls",
    "correlate",
    "displace",
    "each",
    "ended",
    "expire",
    "forward",
    "handle",
    "handles",
    "is_missing",
    "memory",
    "notify_at",
    "one_or_more",
    "ordered",
    "pause",
    "play",
    "push",
    "repeated",
    "restricting",
    "run",
    "run_frames",
    "select",
    "set_aside",
    "start",
    "state",
    "storable",
    "successive",
    "tick",
    "unordered",
    "withdraw",
]

if TYPE_CHECKING:
    __version__: str
else:  # hidden from type checkers, which would take every name for one of ours
    from .installation import __getattr__ as __getattr__

warn_of_namesakes()
