"""Does the result depend on the order of the input? Five reducers of a MapReduce case study, and how to tell.

    reducers     the five, each the total of a key and window, and what of it is determined in any order
    input_rows   rows that show the mistake, rows under which it is none, and the same rows in another order
    monitoring   a running Spark query watched against a second implementation, with what that costs
    picture      that over time

`python -m examples.equivalence` runs the five twice and says which of them came out differently.
"""

from .input_rows import bad_rows as bad_rows
from .input_rows import good_rows as good_rows
from .input_rows import shuffled as shuffled
from .reducers import REDUCERS as REDUCERS
from .reducers import Reducer as Reducer
from .reducers import reduced as reduced

__all__ = ["REDUCERS", "Reducer", "bad_rows", "good_rows", "reduced", "shuffled"]
