"""Headers: what is damaged or foreign is told, with the bucket and the version; whatever bytes were turned."""

from __future__ import annotations

import struct

import pytest
from hypothesis import given
from hypothesis import strategies as st

from cartesius.errors import SnapshotMismatch
from spark_bridge.state.state_headers import FORMAT, MAGIC, Header, joined, split

HEADER = Header(bucket=3, version=7, program="ab" * 16, inputs="cd" * 16, about='{"what": "a program"}')
BODY = bytes(range(256))
BLOB, DIGEST = joined(HEADER, BODY)

headers = st.builds(
    Header,
    bucket=st.integers(-(2**31), 2**31 - 1),
    version=st.integers(0, 2**64 - 1),
    program=st.binary(min_size=16, max_size=16).map(bytes.hex),
    inputs=st.binary(min_size=16, max_size=16).map(bytes.hex),
    about=st.text(max_size=50),
)


@given(headers, st.binary(max_size=100))
def test_what_was_joined_is_split(header, body):
    blob, digest = joined(header, body)
    assert split(blob, header.bucket) == (header, body)
    assert split(blob)[0].digest == digest


def test_equal_states_are_equal_bytes_and_others_have_another_digest():
    assert joined(HEADER, BODY) == (BLOB, DIGEST)
    assert joined(HEADER, BODY[1:])[1] != DIGEST


@given(st.dictionaries(st.integers(0, len(BLOB) - 1), st.integers(1, 255), min_size=1, max_size=4))
def test_no_flipped_byte_goes_unnoticed(flips):
    damaged = bytearray(BLOB)
    for place, bits in flips.items():
        damaged[place] ^= bits
    with pytest.raises(SnapshotMismatch, match="bucket 3"):
        split(bytes(damaged), 3)


@given(st.integers(0, len(BLOB) - 1))
def test_no_blob_that_was_cut_goes_unnoticed(length):
    with pytest.raises(SnapshotMismatch, match="bucket 3"):
        split(BLOB[:length], 3)
    with pytest.raises(SnapshotMismatch):
        split(BLOB + BLOB[: length + 1], 3)


def test_damage_of_the_body_names_bucket_and_version():
    with pytest.raises(SnapshotMismatch) as caught:
        split(BLOB[:-1] + b"?", 3)
    assert str(caught.value) == (
        "restore: expected the state of bucket 3 as it was written but its checksum differs (it says bucket 3, version"
        f" 7, {len(BLOB)} bytes): it is damaged; use a copy of the checkpoint from before"
    )


def test_what_is_no_state_is_foreign():
    with pytest.raises(SnapshotMismatch, match="belongs to another query, or is damaged"):
        split(b"\x80\x04\x95" + BLOB, 3)
    with pytest.raises(SnapshotMismatch, match="expected a bucket's state but got 0 bytes"):
        split(b"")


def test_another_format_is_named():
    other = MAGIC + struct.pack(">H", FORMAT + 1) + BLOB[len(MAGIC) + 2 :]
    with pytest.raises(SnapshotMismatch, match=f"it is in format {FORMAT + 1} .bucket 3, version 7."):
        split(other, 3)


def test_another_bucket_is_refused():
    with pytest.raises(SnapshotMismatch, match=r"got that of bucket 3 \(version 7\).*keep buckets= as it was"):
        split(BLOB, 4)
