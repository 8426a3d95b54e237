"""The rule language of a port: readable rules over streams, with units checked when a rule is written.

In reading order:

- `dsl.dimensions`: dimensions, units of measure and other types, as data; `dsl.units`: the units, from pint
- `dsl.instants`, `dsl.points`: what has no natural zero: instants, degrees of temperature
- `dsl.terms`: expressions as frozen nodes; `dsl.texts`: how they read; `dsl.checking`: how they are typed
- `dsl.fluent`: Python's operators over terms; `dsl.functions`: what rules say by name; `dsl.places`: nearest places
- `dsl.sources`: what is observed; `dsl.situations`: the rows that a test of rules is given
- `dsl.statements`: rules as a frozen tree; `dsl.writing`: require, when, otherwise, location
- `dsl.relating`: rules over two subjects; `dsl.aggregates`, `dsl.totals`: totals of the rows of a source
- `dsl.clocks`: when a rule about the clock changes; `dsl.presence`, `dsl.considering`: what it makes of rows
- `dsl.forecasts`, `dsl.timed_terms`: predictions in rules; `dsl.schedules`, `dsl.lookups`: which is valid when;
  `dsl.foreseen`: what a verdict says of them; `dsl.passing`, `dsl.movements`, `dsl.affine`: when it may pass
- `dsl.links`: how rows are found from the subject; `dsl.rule_packs`: a pack of rules
- `dsl.evaluation`, `dsl.ranges`: terms to closures; `dsl.sharing`: each computed once; `dsl.judging`: to verdicts
- `dsl.raising`: rules that raise
- `dsl.dependencies`, `dsl.reevaluation`, `dsl.remembering`: only what changed is evaluated again
- `dsl.forms`, `dsl.term_forms`: what a judge computes, as an expression that columns can run
- `dsl.verdicts`: what a verdict says; `dsl.margins`: how far from the limit
- `dsl.simplifying`: conditions by three-valued logic; `dsl.intervals`: sets of values
- `dsl.linear_forms`, `dsl.formulas`, `dsl.proving`, `dsl.witnesses`: what can hold, by two-valued logic
- `dsl.linting`, `dsl.surroundings`, `dsl.findings`: the flaws of a pack
- `dsl.relations`: what a pack says of other rows; `dsl.pairs`, `dsl.tallies`: how that is folded; `dsl.related`: what
  it comes to for a subject; `dsl.relation_tables`: its correlations; `dsl.situation_tables`: its rows as lists
- `dsl.lowering`: a pack to one correlation; `dsl.explaining`: its plan
- `dsl.negations`, `dsl.phrases`, `dsl.sentences`: in English
- `dsl.parsing` (the grammar is `rules.lark`), `dsl.syntax_errors`: texts of rules to syntax trees; `dsl.headings`,
  `dsl.text_expressions`, `dsl.reading`: trees to packs; `dsl.printing`, `dsl.phrasing`: packs to texts;
  `dsl.vocabulary`, `dsl.unit_names`, `dsl.quoting`: what words and quotes mean
- `dsl.errors`, `dsl.wording`, `dsl.excerpts`, `dsl.asking`, `dsl.spellings`: refusals that show the line and the fix
"""

from dsl import units as units
from dsl.errors import DimensionMismatch as DimensionMismatch
from dsl.errors import InvalidRule as InvalidRule
from dsl.errors import NoTruthValue as NoTruthValue
from dsl.errors import UnknownField as UnknownField
from dsl.findings import Finding as Finding
from dsl.fluent import Expression as Expression
from dsl.fluent import absolute as absolute
from dsl.fluent import not_ as not_
from dsl.forecasts import throughout as throughout
from dsl.functions import between as between
from dsl.functions import coalesce as coalesce
from dsl.functions import distance as distance
from dsl.functions import known as known
from dsl.functions import named as named
from dsl.functions import now as now
from dsl.passing import Passage as Passage
from dsl.places import nearest as nearest
from dsl.relating import against as against
from dsl.relating import another as another
from dsl.rule_packs import RulePack as RulePack
from dsl.sources import Source as Source
from dsl.sources import choice as choice
from dsl.sources import instant as instant
from dsl.sources import optional as optional
from dsl.sources import position as position
from dsl.totals import count as count
from dsl.totals import max_ as max_
from dsl.totals import mean as mean
from dsl.totals import min_ as min_
from dsl.totals import sum_ as sum_
from dsl.verdicts import Reason as Reason
from dsl.verdicts import Verdict as Verdict
from dsl.writing import location as location
from dsl.writing import otherwise as otherwise
from dsl.writing import require as require
from dsl.writing import when as when

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
    "coalesce",
    "count",
    "distance",
    "instant",
    "known",
    "location",
    "max_",
    "mean",
    "min_",
    "named",
    "nearest",
    "not_",
    "now",
    "optional",
    "otherwise",
    "position",
    "require",
    "sum_",
    "throughout",
    "when",
]
