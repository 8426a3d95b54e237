from dsl import Source
from dsl.units import metres

berth = Source("berth", key="ident", id=str, depth=metres)
