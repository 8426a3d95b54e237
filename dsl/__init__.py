"""The rule language of a port: readable rules over streams, with units checked when a rule is written.

Rooms, each standing on those before it:

- `refusals`: how a rule that is wrong is refused; `terms`: what rules are made of, as frozen data
- `writing`: rules written in Python, with `dsl.units`; `meaning`: the value of a term, its margin, its doubts
- `columns`: the same as expressions over columns; `judgements`: from rows and the clock to a verdict
- `declarations`: sources, forecasts, totals, relations; `tables`: a pack as correlations of tables
- `proofs`: what can never hold, and the lint; `english`: a pack for people to read
- `text`: files of rules, read and printed; `rule_packs`: what users hold of a pack
- `histories`: what was observed, as files in a folder; `versions`: rules that change, and the log of it
- `comparison`: what a change of the rules would have done; `audit`: why a verdict was given, from a history
- `alerts`: who is told of which verdicts
- `editor`: the page that edits a file of rules; `command_lines`: how commands end, and where they write
"""

from dsl import units as units
from dsl.declarations.counted_rows import greatest_of as greatest_of
from dsl.declarations.counted_rows import least_of as least_of
from dsl.declarations.counted_rows import mean_of as mean_of
from dsl.declarations.counted_rows import number_of as number_of
from dsl.declarations.counted_rows import sum_of as sum_of
from dsl.declarations.forecasts import throughout as throughout
from dsl.declarations.functions import between as between
from dsl.declarations.functions import distance as distance
from dsl.declarations.functions import known as known
from dsl.declarations.functions import known_or as known_or
from dsl.declarations.functions import named as named
from dsl.declarations.functions import now as now
from dsl.declarations.relating import against as against
from dsl.declarations.relating import another as another
from dsl.declarations.sources import Source as Source
from dsl.declarations.sources import choice as choice
from dsl.declarations.sources import instant as instant
from dsl.declarations.sources import optional as optional
from dsl.declarations.sources import position as position
from dsl.judgements.passing import Passage as Passage
from dsl.meaning.verdicts import Reason as Reason
from dsl.meaning.verdicts import Verdict as Verdict
from dsl.proofs.findings import Finding as Finding
from dsl.refusals.errors import DimensionMismatch as DimensionMismatch
from dsl.refusals.errors import InvalidRule as InvalidRule
from dsl.refusals.errors import NoTruthValue as NoTruthValue
from dsl.refusals.errors import UnknownField as UnknownField
from dsl.rule_packs import RulePack as RulePack
from dsl.writing.blocks import location as location
from dsl.writing.blocks import otherwise as otherwise
from dsl.writing.blocks import require as require
from dsl.writing.blocks import when as when
from dsl.writing.fluent import Expression as Expression
from dsl.writing.fluent import absolute as absolute
from dsl.writing.fluent import not_ as not_
from dsl.writing.places import nearest as nearest

__all__ = [
    "DimensionMismatch",
    "Expression",
    "Finding",
    "InvalidRule",
    "NoTruthValue",
    "Passage",
    "Reason",
    "RulePack",
    "Source",
    "UnknownField",
    "Verdict",
    "absolute",
    "against",
    "another",
    "between",
    "choice",
    "distance",
    "greatest_of",
    "instant",
    "known",
    "known_or",
    "least_of",
    "location",
    "mean_of",
    "named",
    "nearest",
    "not_",
    "now",
    "number_of",
    "optional",
    "otherwise",
    "position",
    "require",
    "sum_of",
    "throughout",
    "when",
]
