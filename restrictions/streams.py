"""Stream operators: each a correlation under restrictions, never a loop of its own.

They complete and order as a ReactiveX user expects; where one differs, its docstring says so. One difference is common
to all: what a push causes is one *step*, in which every correlation runs once with all that its inputs gave. So a
diamond has no glitch, and of several events that one step brings, `combine_latest` sees the last.
"""

from .alternatives import either as either
from .combining import affine_latest as affine_latest
from .combining import cartesian as cartesian
from .combining import combine_latest as combine_latest
from .combining import fork_join as fork_join
from .combining import merge as merge
from .combining import never as never
from .combining import now as now
from .combining import sample as sample
from .combining import with_latest_from as with_latest_from
from .combining import zip_ as zip_
from .mapping import buffer as buffer
from .mapping import filter_ as filter_
from .mapping import group_by as group_by
from .mapping import map_ as map_
from .mapping import map_concat as map_concat
from .mapping import rolling as rolling
from .mapping import scan as scan
from .pairing import group_join as group_join
from .pairing import interval_join as interval_join
from .pairing import join as join
from .pairing import stream_table_join as stream_table_join
from .passing import distinct_until_changed as distinct_until_changed
from .passing import skip_until as skip_until
from .passing import skip_while as skip_while
from .passing import take_until as take_until
