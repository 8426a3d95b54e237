"""Stream operators: each a correlation under restrictions, never a loop of its own.

They complete and order as a ReactiveX user expects; where one differs, its docstring says so. One difference is common
to all: what a push causes is one *step*, in which every correlation runs once with all that its inputs gave. So a
diamond has no glitch, and of several events that one step brings, `combine_latest` sees the last.
"""

from restrictions.stream_operators.combining import affine_latest as affine_latest
from restrictions.stream_operators.combining import cartesian as cartesian
from restrictions.stream_operators.combining import combine_latest as combine_latest
from restrictions.stream_operators.combining import fork_join as fork_join
from restrictions.stream_operators.combining import merge as merge
from restrictions.stream_operators.combining import never as never
from restrictions.stream_operators.combining import now as now
from restrictions.stream_operators.combining import sample as sample
from restrictions.stream_operators.combining import with_latest_from as with_latest_from
from restrictions.stream_operators.combining import zip_ as zip_
from restrictions.stream_operators.competing import either as either
from restrictions.stream_operators.joining import group_join as group_join
from restrictions.stream_operators.joining import interval_join as interval_join
from restrictions.stream_operators.joining import join as join
from restrictions.stream_operators.joining import stream_table_join as stream_table_join
from restrictions.stream_operators.letting_through import distinct_until_changed as distinct_until_changed
from restrictions.stream_operators.letting_through import skip_until as skip_until
from restrictions.stream_operators.letting_through import skip_while as skip_while
from restrictions.stream_operators.letting_through import take_until as take_until
from restrictions.stream_operators.mapping import buffer as buffer
from restrictions.stream_operators.mapping import filter_ as filter_
from restrictions.stream_operators.mapping import group_by as group_by
from restrictions.stream_operators.mapping import map_ as map_
from restrictions.stream_operators.mapping import map_concat as map_concat
from restrictions.stream_operators.mapping import rolling as rolling
from restrictions.stream_operators.mapping import scan as scan
