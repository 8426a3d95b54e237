"""Headers: what stands in front of a bucket's state, so that a foreign or damaged blob is told before it is read.

Layout: magic, version of the format, bucket, how many calls the state has seen, the program's and the inputs'
fingerprints, the length of the text that describes the program and how its rows are spread over how many buckets, that
text, a digest of all this and the body, the body.

Invariant: `split` of what `joined` made gives the same header and body; of anything else it raises.

Source: DESIGN.md, section 7.
"""

from __future__ import annotations

import hashlib
import struct
from typing import Final

import attrs

from cartesius.data.inflating import deflated, inflated
from cartesius.errors import SnapshotMismatch

MAGIC: Final = b"cartstat"
FORMAT: Final = 2
_LAYOUT: Final = struct.Struct(">8sHiQ16s16sI")
_DIGEST: Final = 16


@attrs.frozen
class Header:
    """What is known of a state without reading it.

    >>> from spark_bridge.state.state_headers import Header, joined, split
    >>> blob, _ = joined(Header(bucket=3, version=7, program="00" * 16, inputs="11" * 16, about="{}"), b"body")
    >>> split(blob, 3)[0].version
    7

    Args:
        bucket: Its bucket's number.
        version: How many calls it has seen: 1 after the first.
        program: The program's fingerprint, 32 hexadecimal digits.
        inputs: The fingerprint of the sources and their columns, likewise.
        about: The text that says what the program is, and how its rows are spread over how many buckets, for whoever
            must explain a difference.
        digest: Of the blob, in hexadecimal digits; the same digest, the same state. Given by `split`.
    """

    bucket: int
    version: int
    program: str
    inputs: str
    about: str = attrs.field(repr=False)
    digest: str = attrs.field(default="", eq=False)

    def __str__(self) -> str:
        """Show what a message names."""
        return f"bucket {self.bucket}, version {self.version}"


def joined(header: Header, body: bytes) -> tuple[bytes, str]:
    """Return the blob of a header and a body, and its digest; that of the header is not looked at."""
    about = deflated(header.about.encode(), 6)
    prints = (bytes.fromhex(header.program), bytes.fromhex(header.inputs))
    head = _LAYOUT.pack(MAGIC, FORMAT, header.bucket, header.version, *prints, len(about)) + about
    digest = _digest(head, body)
    return b"".join((head, digest, body)), digest.hex()


def split(blob: bytes, bucket: int | None = None) -> tuple[Header, bytes]:
    """Return the header and the body of a blob.

    Args:
        blob: What `joined` returned.
        bucket: The bucket that it is expected to be of; None: any.

    Raises:
        SnapshotMismatch: It is no state of a bucket, damaged, of another version of the format, or of another bucket.
    """
    what = "a bucket's state" if bucket is None else f"the state of bucket {bucket}"
    if len(blob) < _LAYOUT.size or bytes(blob[: len(MAGIC)]) != MAGIC:
        message = (
            f"restore: expected {what} but got {len(blob)} bytes that do not begin as one; the checkpoint belongs to"
            " another query, or is damaged: use a new checkpoint, or a copy from before"
        )
        raise SnapshotMismatch(message)
    _, form, found, version, program, inputs, length = _LAYOUT.unpack_from(blob)
    if form != FORMAT:
        message = (
            f"restore: expected {what} in format {FORMAT} but it is in format {form} (bucket {found}, version"
            f" {version}), which says other things of its query; run it with the release of Cartesius that wrote it, or"
            " begin a new checkpoint"
        )
        raise SnapshotMismatch(message)
    end = _LAYOUT.size + length
    head, digest, body = bytes(blob[:end]), bytes(blob[end : end + _DIGEST]), bytes(blob[end + _DIGEST :])
    if len(head) < end or digest != _digest(head, body):
        message = (
            f"restore: expected {what} as it was written but its checksum differs (it says bucket {found}, version"
            f" {version}, {len(blob)} bytes): it is damaged; use a copy of the checkpoint from before"
        )
        raise SnapshotMismatch(message)
    if bucket is not None and found != bucket:
        message = (
            f"restore: expected {what} but got that of bucket {found} (version {version}); the number of buckets is"
            " fixed for the life of a checkpoint: keep buckets= as it was"
        )
        raise SnapshotMismatch(message)
    about = inflated(head[_LAYOUT.size :]).decode()
    return Header(found, version, program.hex(), inputs.hex(), about, digest.hex()), body


def _digest(head: bytes, body: bytes) -> bytes:
    digest = hashlib.blake2b(head, digest_size=_DIGEST)
    digest.update(body)
    return digest.digest()
