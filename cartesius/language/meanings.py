"""What a restriction means, as data: what the faster tiers know of it, who do not run its clauses.

A restriction class that declares a `Meaning` promises that its clauses do what is written here, for its configuration
fields of the names given. It is not inherited, as a subclass may do more. One without a meaning is run as written.

Source: DESIGN 4.
"""

from __future__ import annotations

import enum
from typing import Final


class Meaning(enum.Enum):
    """What a restriction does, in one word."""

    NEWEST = "keeps the `n` newest entries of `slots`, and displaces the others"
    OLDEST = "keeps the `n` oldest entries of `slots`, and displaces the others"
    KEYS = "opens a key space: `keys`"
    USES = "lets each entry of `slots` be used `n` times"
    ALIGNED = "holds `slots` back until each has an event; `limit` and `overflow` as in `aligning`"
    FILTER = "lets an event of `slot` through if its value satisfies `predicate`"
    BAND = (
        "lets parts of `slots` meet that lie within `duration`; they leave once the clock has passed what they can meet"
    )
    LASTING = "lets a part of `slot` meet what ends at most `duration` after it, and leave then"
    APART = "lets parts of `left` and `right` meet whose ends are `lower` to `upper` apart, and leave then"
    OPTIONAL = "lets the parts of `slots` be missing"
    RETRACTS = "takes back the results of what is displaced"
    UPSERTS = "makes the events of `slot` rows by `key`; without one they are changes"
    RECALLS = "keeps no rows of `slot`: what a change replaces comes with it, and what changes nothing does not come"
    FOLDS = "makes each row of `slot` the fold of its updates, by `combine`, from `initial`"
    ANNOUNCES = "makes the changes of the table of `slot` events, `Update` and `Delete`, but those that change nothing"
    ROWS = "makes the results rows of a table by `key`"
    COMPLETION = "changes no result: at most it says when the output completes"
    OLDEST_FIRST = "has memories visited oldest first"
    MOMENTARY = "keeps no entry of `slots` beyond its batch"
    ALONE = "makes each event a candidate of its own"
    AGES = "shows rows of `slot` as its `life` does by the clock; columns know how if the life says its `phases`"
    COLLATES = "collects the events of `slot` in rows by its `life`; columns know how if the life says what it collects"
    WINDOWS = "delivers events to the windows of `size` that contain them, one every `period`, if it has one, or `size`"
    SEQUENCE = "lets parts of `slots` meet only one after another, by `contiguity`"
    PRUNED = "lets parts of `slots` meet as SEQUENCE does, and leaves out what matches rule out by `after_match`"
    RUNS = "turns the events of `slot` into runs, by `where`, `contiguity` and `within`"
    TOTALS = "totals results over `group`, by the key that `by` gives of each, if it has one"


BANDS: Final = frozenset({Meaning.BAND, Meaning.LASTING, Meaning.APART})
"""What is about the times of parts, and lets them leave."""
OF_PRODUCTS: Final = frozenset(
    {
        Meaning.NEWEST,
        Meaning.OLDEST,
        Meaning.KEYS,
        Meaning.USES,
        Meaning.ALIGNED,
        Meaning.FILTER,
        Meaning.COMPLETION,
        Meaning.OLDEST_FIRST,
        Meaning.MOMENTARY,
    }
)
"""What is said of products of streams, of whose times nothing is said."""
OF_JOINS: Final = frozenset({Meaning.OPTIONAL, Meaning.RETRACTS, Meaning.ROWS})
"""What is said of joins of tables: which rows may be missing, and that the results are rows."""


class Total(enum.Enum):
    """What a group that `Meaning.TOTALS` totals over comes to, of the values that it makes of the results.

    A group says so by ``known``: one of these, and the functions that make the value of a result, the first first.
    """

    COUNT = "how many there are"
    PRESENT = "how many are not None"
    SUM = (
        "the exact sum of those that are not None: `numerator` / `denominator`, of `count` numbers, of which `floats`"
        " are floats; rounded once; None of no numbers"
    )
    MEAN = "their exact sum, kept as SUM keeps it, divided by its `count`; rounded once"
    LEAST = "the first of the least, None counting for nothing"
    GREATEST = "the first of the greatest, None counting for nothing"
