"""Operators that cannot depend on an order that their input does not have, from three templates to fill in.

`per_item` sees one item at a time, `in_order_per_key` the items of a key in their order, and `unordered_per_key` what
came of a key between two markers, as a bag. `operate` runs one over a stream.
"""

from restrictions.typed_operators.operating import BAG as BAG
from restrictions.typed_operators.operating import operate as operate
from restrictions.typed_operators.template_base import Keyed as Keyed
from restrictions.typed_operators.templates import in_order_per_key as in_order_per_key
from restrictions.typed_operators.templates import per_item as per_item
from restrictions.typed_operators.templates import unordered_per_key as unordered_per_key
