"""Restrictions: what steers the enumeration of a correlation, and what is derived from it.

One family a module: `recency`, `keys`, `consumption`, `alignment`, `outer`, `results`; derived: `streams`.
"""

from .alignment import aligning as aligning
from .consumption import affinely as affinely
from .consumption import at_most as at_most
from .keys import key_by as key_by
from .outer import optionally as optionally
from .recency import most_recently as most_recently
from .results import as_table as as_table
from .results import retracting as retracting
from .streams import affine_latest as affine_latest
from .streams import cartesian as cartesian
from .streams import combine_latest as combine_latest
from .streams import zip_ as zip_

__all__ = [
    "affine_latest",
    "affinely",
    "aligning",
    "as_table",
    "at_most",
    "cartesian",
    "combine_latest",
    "key_by",
    "most_recently",
    "optionally",
    "retracting",
    "zip_",
]
