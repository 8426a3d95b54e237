"""Windows: correlations that each see a span of time alone.

A window encloses the correlation: it is an instance of it, for the events that the window wholly contains. What is
written to the right has a copy a window, what is written to the left, such as `key_by`, is common to all.

Source: ICFP 2018, doi:10.1145/3236762, Figure 15; Dindar et al., VLDB Journal 2013; SEMANTICS 3.2 and 3.4.
"""

from .assigning import fixed as fixed
from .assigning import sliding as sliding
from .assigning import tumbling as tumbling
from .assigning import windowed as windowed
from .contents import accumulated as accumulated
from .contents import filtered as filtered
from .contents import first as first
from .contents import keeping as keeping
from .contents import last as last
from .reports import Report as Report
from .reports import dstream as dstream
from .reports import final as final
from .reports import istream as istream
from .reports import non_empty as non_empty
from .reports import on_close as on_close
from .reports import on_content_change as on_content_change
from .reports import periodic as periodic
from .reports import rstream as rstream
from .sessions import session as session
