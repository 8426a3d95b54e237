"""Experiments: restriction strategies compared on the same events, and what each costs and gives.

Any restriction enters a comparison in three lines:

>>> from examples.experiments import compare, late_settings, pairing
>>> from restrictions import affinely, at_most, key_by
>>> strategies = {"thrice": pairing(key_by(reading="key", setting="key") | at_most(3, "setting") | affinely("reading"))}
>>> compare(strategies, [late_settings], [200], repetitions=1).column("results").to_pylist()
[125]
"""

from .comparing import Strategy as Strategy
from .comparing import compare as compare
from .comparing import save as save
from .comparing import summary as summary
from .late_strategies import strategies as strategies
from .settings_workloads import late_settings as late_settings
from .settings_workloads import pairing as pairing
from .settings_workloads import ships_and_tides as ships_and_tides
from .workloads import Arrival as Arrival
from .workloads import Workload as Workload
