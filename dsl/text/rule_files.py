"""The text of a file of rules, as the commands read it."""

from __future__ import annotations

from typing import TYPE_CHECKING

from cartesius.errors import InvalidArgument

if TYPE_CHECKING:
    from pathlib import Path


def rule_text(path: Path) -> str:
    """Return the text of a file of rules.

    Raises:
        InvalidArgument: It cannot be read, or is no text in UTF-8.
    """
    try:
        content = path.read_bytes()
    except OSError as error:
        message = f"{path}: {error.strerror}; name a file of rules, such as examples/rules/harbour.rules"
        raise InvalidArgument(message) from None
    return text_of(content, path)


def text_of(content: bytes, path: Path) -> str:
    """Return what a file of rules holds as text.

    Raises:
        InvalidArgument: It is none in UTF-8.
    """
    try:
        return content.decode("utf-8")
    except UnicodeError:
        message = f"{path}: is no text in UTF-8; save it as plain text, with the encoding UTF-8"
        raise InvalidArgument(message) from None
