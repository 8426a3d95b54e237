"""What a restriction means, as data: what the faster tiers know of it, who do not run its clauses.

A restriction class that declares a `Meaning` promises that its clauses do what is written here, for its configuration
fields of the names given. It is not inherited, as a subclass may do more. One without a meaning is run as written.

Source: DESIGN 4.
"""

from __future__ import annotations

import enum


class Meaning(enum.Enum):
    """What a restriction does, in one word."""

    NEWEST = "keeps the `n` newest entries of `slots`, and displaces the others"
    OLDEST = "keeps the `n` oldest entries of `slots`, and displaces the others"
    KEYS = "opens a key space: `keys`"
    USES = "lets each entry of `slots` be used `n` times"
    ALIGNED = "holds `slots` back until each has an event; `limit` and `overflow` as in `aligning`"
    FILTER = "lets an event of `slot` through if its value satisfies `predicate`"
    BAND = "lets parts of `slots` meet that lie within `duration`"
    OPTIONAL = "lets the parts of `slots` be missing"
    RETRACTS = "takes back the results of what is displaced"
    UPSERTS = "makes the events of `slot` rows by `key`; without one they are changes"
    RECALLS = "keeps no rows of `slot`: what a change replaces comes with it, and what changes nothing does not come"
    ROWS = "makes the results rows of a table by `key`"
    COMPLETION = "says when the output completes, and nothing else"
    OLDEST_FIRST = "has memories visited oldest first"
    MOMENTARY = "keeps no entry of `slots` beyond its batch"
    ALONE = "makes each event a candidate of its own"
    WINDOWS = "delivers events to windows"
    TOTALS = "totals results by group"
