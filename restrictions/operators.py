"""Operators that cannot depend on an order that their input does not have, from three templates to fill in.

`per_item` sees one item at a time, `in_order_per_key` the items of a key in their order, and `unordered_per_key` what
came of a key between two markers, as a bag. `operate` runs one over a stream.
"""

from .operating import BAG as BAG
from .operating import operate as operate
from .template_base import Keyed as Keyed
from .templates import in_order_per_key as in_order_per_key
from .templates import per_item as per_item
from .templates import unordered_per_key as unordered_per_key
