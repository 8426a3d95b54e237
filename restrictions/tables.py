"""The algebra of keyed tables: each operator a correlation under restrictions, never a loop of its own.

Changes come out as `Update` and `Delete`, at most one a key and step, and none that changes nothing.

Source: thesis, chapters 4 and 6; SEMANTICS 2.
"""

from restrictions.table_operators.aggregating import aggregate as aggregate
from restrictions.table_operators.changing import changelog as changelog
from restrictions.table_operators.changing import table_of_latest as table_of_latest
from restrictions.table_operators.changing import to_table as to_table
from restrictions.table_operators.changing import update_stream as update_stream
from restrictions.table_operators.groups import Group as Group
from restrictions.table_operators.groups import Monoid as Monoid
from restrictions.table_operators.groups import count as count
from restrictions.table_operators.groups import max_ as max_
from restrictions.table_operators.groups import mean as mean
from restrictions.table_operators.groups import min_ as min_
from restrictions.table_operators.groups import sum_ as sum_
from restrictions.table_operators.table_joins import foreign_join as foreign_join
from restrictions.table_operators.table_joins import inner_join as inner_join
from restrictions.table_operators.table_joins import left_join as left_join
from restrictions.table_operators.table_joins import outer_join as outer_join
from restrictions.table_operators.tabling import combine_updates as combine_updates
from restrictions.table_operators.tabling import filter_table as filter_table
from restrictions.table_operators.tabling import map_table as map_table
from restrictions.table_operators.tabling import reduce as reduce
