"""What restrictions mean: nodes, as data, and the facts that follow from them. Who writes a restriction answers these.

In reading order: `reliance`, `nodes`, `known_totals`, `facts`.
"""

from cartesius.plan.nodes import Age as Age
from cartesius.plan.nodes import Aggregate as Aggregate
from cartesius.plan.nodes import AllowLate as AllowLate
from cartesius.plan.nodes import Announce as Announce
from cartesius.plan.nodes import Apart as Apart
from cartesius.plan.nodes import Assigned as Assigned
from cartesius.plan.nodes import AsTable as AsTable
from cartesius.plan.nodes import Choose as Choose
from cartesius.plan.nodes import Collate as Collate
from cartesius.plan.nodes import Complete as Complete
from cartesius.plan.nodes import Deliver as Deliver
from cartesius.plan.nodes import Fold as Fold
from cartesius.plan.nodes import Freed as Freed
from cartesius.plan.nodes import InSequence as InSequence
from cartesius.plan.nodes import InTime as InTime
from cartesius.plan.nodes import KeyBy as KeyBy
from cartesius.plan.nodes import Lasting as Lasting
from cartesius.plan.nodes import Let as Let
from cartesius.plan.nodes import Lockstep as Lockstep
from cartesius.plan.nodes import May as May
from cartesius.plan.nodes import Never as Never
from cartesius.plan.nodes import Newest as Newest
from cartesius.plan.nodes import Node as Node
from cartesius.plan.nodes import Now as Now
from cartesius.plan.nodes import Oldest as Oldest
from cartesius.plan.nodes import Opaque as Opaque
from cartesius.plan.nodes import Recall as Recall
from cartesius.plan.nodes import Regular as Regular
from cartesius.plan.nodes import Relation as Relation
from cartesius.plan.nodes import Require as Require
from cartesius.plan.nodes import Retain as Retain
from cartesius.plan.nodes import Runs as Runs
from cartesius.plan.nodes import Separate as Separate
from cartesius.plan.nodes import Sessions as Sessions
from cartesius.plan.nodes import Single as Single
from cartesius.plan.nodes import TakeBack as TakeBack
from cartesius.plan.nodes import TakeOrder as TakeOrder
from cartesius.plan.nodes import Transduce as Transduce
from cartesius.plan.nodes import Until as Until
from cartesius.plan.nodes import Upsert as Upsert
from cartesius.plan.nodes import Uses as Uses
from cartesius.plan.nodes import Versions as Versions
from cartesius.plan.nodes import Visit as Visit
from cartesius.plan.nodes import Within as Within
