"""Cartesius: a stream join is a restriction of the cartesian product of its inputs.

Read in this order: `operations`, `handlers`, `resumptions`, `strands` (effects); `events`, `records`, `reactives`,
`expressions`, `tracing`, `lists`, `patterns` (what a correlation is); `families`, `clauses`, `clock_clauses`,
`window_clauses`, `combinations`, `restriction_base`, `places`, `installations` (what restrictions are); `orders`,
`order_needs`, `order_edges`, `order_outputs` (types of order); `memories`, `bindings`, `pauses`, `enumeration`,
`listings`, `partial_rows`, `absences`, `windows`, `outputs`, `relations`, `world`, `batches`, `join_shape` (one
correlation at work); `programs`, `alternatives`, `lenience`, `failures`, `steps`, `doors`, `engine`, `outlets`,
`traces`, `measures`, `bounds`, `explanations` (running programs); `codec`, `fingerprints`, `snapshots` (saved state).
Beside them `transducers` exports data transducers: `extended_values`, `transitions`, `machines`, `transducing`, and for
sequences `track_shapes`, `track_machines`, `tracking`.
"""

from .clauses import expire as expire
from .clauses import memory as memory
from .clauses import pause as pause
from .clauses import play as play
from .clauses import set_aside as set_aside
from .clock_clauses import notify_at as notify_at
from .codec import storable as storable
from .correlating import correlate as correlate
from .correlating import restricting as restricting
from .engine import Engine as Engine
from .entries import Entry as Entry
from .errors import CartesiusError as CartesiusError
from .events import Delete as Delete
from .events import Event as Event
from .events import Update as Update
from .events import Window as Window
from .families import Duration as Duration
from .families import Slot as Slot
from .families import Slots as Slots
from .families import arrive as arrive
from .families import displace as displace
from .families import ended as ended
from .families import push as push
from .families import select as select
from .families import start as start
from .families import tick as tick
from .families import withdraw as withdraw
from .handlers import Handler as Handler
from .handlers import controls as controls
from .handlers import handle as handle
from .handlers import handles as handles
from .lists import each as each
from .lists import one_or_more as one_or_more
from .lists import repeated as repeated
from .lists import successive as successive
from .matches import Match as Match
from .null_functions import coalesce as coalesce
from .null_functions import is_missing as is_missing
from .operations import Implicit as Implicit
from .operations import Operation as Operation
from .operations import forward as forward
from .orders import Reliance as Reliance
from .orders import ordered as ordered
from .orders import unordered as unordered
from .reactives import Reactive as Reactive
from .restriction_base import Restriction as Restriction
from .states import state as state
from .traces import run as run

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
