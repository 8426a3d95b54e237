"""Data transducers: machines with a bounded number of registers, which say what an item costs before it comes.

A transducer has states, each a register that holds an extended value; items are a tag and a value. What the registers
hold after an item is the *least* vector that its transitions ask for: nobody says in which order they are taken, and
two that give one state a value are a conflict, not a race. So the number of registers bounds memory, and that of the
transitions of a tag the work for an item, whatever came before. `Tracker` makes one of a sequence that is bounded.

Source: Alur, Mamouras, Stanford, Modular quantitative monitoring, POPL 2019; SOURCES E6 and E7.
"""

from cartesius.automata.extended_values import CONFLICT as CONFLICT
from cartesius.automata.extended_values import UNDEFINED as UNDEFINED
from cartesius.automata.extended_values import union as union
from cartesius.automata.machines import Transducer as Transducer
from cartesius.automata.transducing import Counts as Counts
from cartesius.automata.transducing import Running as Running
from cartesius.automata.transitions import INITIAL as INITIAL
from cartesius.automata.transitions import New as New
from cartesius.automata.transitions import Steps as Steps
from cartesius.automata.transitions import Transition as Transition
from cartesius.tracking.trackers import Tracker as Tracker
