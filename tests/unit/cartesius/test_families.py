"""Families are one of each in a process: they travel by name, also with a restriction class that travels by value."""

from __future__ import annotations

import pickle
import subprocess
import sys
from pathlib import Path

import pytest
from pyspark.cloudpickle import dumps

from cartesius import Reactive, Restriction, Slot, arrive, correlate, forward, handles, notify_at, state, tick
from cartesius.language import families
from restrictions import key_by

ROOT = Path(__file__).parents[3]
FAMILIES = [value for value in vars(families).values() if isinstance(value, families.Family)]
THERE = """
import sys
from cartesius import run
from pyspark.cloudpickle import loads
level, output = loads(sys.stdin.buffer.read())
trace = [(level, {"at": "N", "metres": metres}) for metres in (1.0, 1.2, 1.6)]
print([event.value for event in run(output, trace, close=True)])
"""


@pytest.mark.parametrize("family", FAMILIES, ids=lambda family: family.name)
def test_a_family_travels_by_name(family):
    assert pickle.loads(pickle.dumps(family)) is family


def test_a_restriction_of_a_script_works_in_another_process():
    """As in a worker of Spark, which cannot import the script: cloudpickle sends the class itself."""

    class coarsely(Restriction):
        slot: Slot
        last = state(None)

        @handles(arrive, "slot")
        def drop(self, slot, event):
            if self.last is None or abs(event.value.metres - self.last) >= 0.5:
                self.last = event.value.metres
                notify_at(event.end)
                forward(slot, event)

        @handles(tick)
        def note(self, now):
            pass

    level = Reactive("level")
    restrict = key_by(level="at") | coarsely("level")
    output = correlate(level=level, yields=lambda level: level.metres, restrict=restrict)
    command = [sys.executable, "-c", THERE]
    done = subprocess.run(command, cwd=ROOT, input=dumps((level, output)), capture_output=True, check=False)
    assert done.stdout.decode().strip() == "[1.0, 1.6]", done.stderr.decode()
