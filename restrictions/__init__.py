"""Restrictions: what steers the enumeration of a correlation, and what is derived from it.

Rooms, one family a module, each standing on those before it:

- `basics`: what stays, is used, is chosen; `gates`: what waits, is turned into something else, or goes no further
- `time`: durations, order by time, absence; `sequencing`: one after another; `windowing`: spans of time
- `stream_operators`, `table_operators`, `typed_operators`: correlations under restrictions, never loops of their own

Users import from here, and from `streams`, `tables`, `windows` and `operators`.
"""

from .basics.accepting import by_arrival as by_arrival
from .basics.counting import every_nth as every_nth
from .basics.counting import take as take
from .basics.filters import only as only
from .basics.keys import key_by as key_by
from .basics.outer import optionally as optionally
from .basics.recency import earliest as earliest
from .basics.recency import most_recently as most_recently
from .basics.selection import fifo as fifo
from .basics.selection import first_match as first_match
from .basics.selection import lifo as lifo
from .basics.selection import ordered_by as ordered_by
from .basics.selection import randomly as randomly
from .basics.separation import momentarily as momentarily
from .basics.separation import separately as separately
from .basics.taking_back import as_table as as_table
from .basics.taking_back import retracting as retracting
from .basics.uses import affinely as affinely
from .basics.uses import at_most as at_most
from .gates.alignment import aligning as aligning
from .sequencing.contexts import chronicle as chronicle
from .sequencing.contexts import continuous as continuous
from .sequencing.contexts import cumulative as cumulative
from .sequencing.contexts import recent as recent
from .sequencing.sequences import in_sequence as in_sequence
from .stream_operators.combining import affine_latest as affine_latest
from .stream_operators.combining import cartesian as cartesian
from .stream_operators.combining import combine_latest as combine_latest
from .stream_operators.combining import zip_ as zip_
from .time.absence import without as without
from .time.duration import within as within
from .time.event_time import in_event_time as in_event_time
from .time.versioning import versioned as versioned
from .windowing.assigned_windows import windowed as windowed
from .windowing.assigning import fixed as fixed
from .windowing.assigning import sliding as sliding
from .windowing.assigning import tumbling as tumbling
from .windowing.sessions import session as session

__all__ = [
    "affine_latest",
    "affinely",
    "aligning",
    "as_table",
    "at_most",
    "by_arrival",
    "cartesian",
    "chronicle",
    "combine_latest",
    "continuous",
    "cumulative",
    "earliest",
    "every_nth",
    "fifo",
    "first_match",
    "fixed",
    "in_event_time",
    "in_sequence",
    "key_by",
    "lifo",
    "momentarily",
    "most_recently",
    "only",
    "optionally",
    "ordered_by",
    "randomly",
    "recent",
    "retracting",
    "separately",
    "session",
    "sliding",
    "take",
    "tumbling",
    "versioned",
    "windowed",
    "within",
    "without",
    "zip_",
]
