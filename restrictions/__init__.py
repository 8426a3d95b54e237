"""Restrictions: what steers the enumeration of a correlation, and what is derived from it.

One family a module: `recency`, `keys`, `consumption`, `alignment`, `accepting`, `selection`, `counting`, `filters`,
`separation`, `folding`, `signals`, `duration`, `absence`, `gathering`, `contexts`, `completion`, `outer`, `results`,
`windows`, `sequences`; derived: `streams`.
"""

from .absence import without as without
from .accepting import by_arrival as by_arrival
from .alignment import aligning as aligning
from .assigning import fixed as fixed
from .assigning import sliding as sliding
from .assigning import tumbling as tumbling
from .assigning import windowed as windowed
from .combining import affine_latest as affine_latest
from .combining import cartesian as cartesian
from .combining import combine_latest as combine_latest
from .combining import zip_ as zip_
from .consumption import affinely as affinely
from .consumption import at_most as at_most
from .contexts import chronicle as chronicle
from .contexts import continuous as continuous
from .contexts import cumulative as cumulative
from .contexts import recent as recent
from .counting import every_nth as every_nth
from .counting import take as take
from .duration import within as within
from .event_time import in_event_time as in_event_time
from .filters import only as only
from .keys import key_by as key_by
from .outer import optionally as optionally
from .recency import earliest as earliest
from .recency import most_recently as most_recently
from .results import as_table as as_table
from .results import retracting as retracting
from .selection import fifo as fifo
from .selection import first_match as first_match
from .selection import lifo as lifo
from .selection import ordered_by as ordered_by
from .selection import randomly as randomly
from .separation import momentarily as momentarily
from .separation import separately as separately
from .sequences import in_sequence as in_sequence
from .sessions import session as session
from .versions import versioned as versioned

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
