"""The algebra of keyed tables: each operator a correlation under restrictions, never a loop of its own.

Changes come out as `Update` and `Delete`, at most one a key and step, and none that changes nothing.

Source: thesis, chapters 4 and 6; SEMANTICS 2.
"""

from .aggregating import aggregate as aggregate
from .changing import changelog as changelog
from .changing import table_of_latest as table_of_latest
from .changing import to_table as to_table
from .changing import update_stream as update_stream
from .groups import Group as Group
from .groups import Monoid as Monoid
from .groups import count as count
from .groups import max_ as max_
from .groups import mean as mean
from .groups import min_ as min_
from .groups import sum_ as sum_
from .table_joins import foreign_join as foreign_join
from .table_joins import inner_join as inner_join
from .table_joins import left_join as left_join
from .table_joins import outer_join as outer_join
from .tabling import combine_updates as combine_updates
from .tabling import filter_table as filter_table
from .tabling import map_table as map_table
from .tabling import reduce as reduce
