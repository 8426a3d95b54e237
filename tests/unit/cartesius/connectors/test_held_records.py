"""Records of several partitions come in the order of time, whatever is read, ends, or grows in between."""

from __future__ import annotations

from hypothesis import given, settings
from hypothesis import strategies as st

from cartesius.connectors.held_records import Held, HeldRecords

PARTITIONS = 3
STEPS = st.tuples(st.sampled_from(["add", "end", "reaches", "take"]), st.integers(0, PARTITIONS - 1), st.integers(0, 4))


@settings(max_examples=max(300, settings().max_examples))
@given(st.lists(STEPS, max_size=40), st.booleans())
def test_what_is_given_is_the_earliest_of_all_if_every_partition_has_one_or_has_ended(steps, follow):
    """By its words: all partitions are looked at for each record."""
    records = HeldRecords(range(PARTITIONS), follow=follow)
    held = {partition: [] for partition in range(PARTITIONS)}
    read, ended = dict.fromkeys(held, -1), set()
    for number, (step, partition, value) in enumerate(steps):
        if step == "add":
            record = Held(value, number, None)
            records.add(partition, record)
            held[partition].append(record)
            read[partition] = number + 1
        elif step == "end":
            records.end(partition, number)
            read[partition] = number
            ended.add(partition)
        elif step == "reaches":
            offset = read[partition] + value - 1
            records.reaches(partition, offset)
            if 0 <= offset <= read[partition]:
                ended.add(partition)
            elif follow:
                ended.discard(partition)
        else:
            firsts = [(found[0].time, partition) for partition, found in held.items() if found]
            waits = any(not found and partition not in ended for partition, found in held.items())
            expected = None if waits or not firsts else (min(firsts)[1], held[min(firsts)[1]].pop(0))
            assert records.take() == expected
        assert records.have_ended() is (len(ended) == PARTITIONS)
