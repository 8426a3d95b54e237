"""Windows: correlations that each see a span of time alone.

A window encloses the correlation: it is an instance of it, for the events that the window wholly contains. What is
written to the right has a copy a window, what is written to the left, such as `key_by`, is common to all.

Source: ICFP 2018, doi:10.1145/3236762, Figure 15; Dindar et al., VLDB Journal 2013; SEMANTICS 3.2 and 3.4.
"""

from restrictions.windowing.assigned_windows import windowed as windowed
from restrictions.windowing.assigning import fixed as fixed
from restrictions.windowing.assigning import sliding as sliding
from restrictions.windowing.assigning import tumbling as tumbling
from restrictions.windowing.contents import accumulated as accumulated
from restrictions.windowing.contents import filtered as filtered
from restrictions.windowing.contents import first as first
from restrictions.windowing.contents import keeping as keeping
from restrictions.windowing.contents import last as last
from restrictions.windowing.reports import Report as Report
from restrictions.windowing.reports import dstream as dstream
from restrictions.windowing.reports import final as final
from restrictions.windowing.reports import istream as istream
from restrictions.windowing.reports import non_empty as non_empty
from restrictions.windowing.reports import on_close as on_close
from restrictions.windowing.reports import on_content_change as on_content_change
from restrictions.windowing.reports import periodic as periodic
from restrictions.windowing.reports import rstream as rstream
from restrictions.windowing.sessions import session as session
