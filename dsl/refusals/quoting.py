"""Quotes in a text of rules: texts in double quotes, names that are no words in backticks, with JSON's escapes."""

from __future__ import annotations

import json

from dsl.refusals.errors import InvalidRule, refusal


def quoted(name: str) -> str:
    r"""Return a name in backticks, on one line.

    >>> quoted("a `b`")
    '`a \\`b\\``'
    """
    return "`" + json.dumps(name, ensure_ascii=False)[1:-1].replace('\\"', '"').replace("`", "\\`") + "`"


def unquoted(text: str) -> str:
    r"""Return the name that stands in backticks.

    >>> unquoted(quoted('a "b" `c`'))
    'a "b" `c`'

    Raises:
        InvalidRule: A backslash stands before something that needs none.
    """
    body = text[1:-1].replace("\\`", "`").replace('"', '\\"')
    return unescaped(f'"{body}"')


def free(written: str) -> str:
    """Return what stands after a label and its colon: the text itself, or in quotes where that would not be the same.

    >>> free("she must stay afloat"), free(" two  "), free("")
    ('she must stay afloat', '" two  "', '""')
    """
    plain = written and written == written.strip() and not written.startswith('"') and written.isprintable()
    return written if plain else json.dumps(written, ensure_ascii=False)


def unescaped(text: str) -> str:
    r"""Return the text that stands in double quotes, with JSON's escapes.

    >>> unescaped('"a \\"b\\""')
    'a "b"'

    Raises:
        InvalidRule: A backslash stands before something that needs none.
    """
    try:
        return str(json.loads(text, strict=False))
    except ValueError:
        fix = [("fix", 'write a backslash itself as \\\\, a quote inside quotes as \\", a new line as \\n')]
        raise InvalidRule(refusal(f"{text}: expected a text in quotes but a backslash is out of place", fix)) from None
