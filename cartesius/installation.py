"""What is installed: the version, what an extra would add, and whether the packages beside this one are found.

The distribution is called otherwise than what is imported, as `cartesius` was taken: ``pip install cartesius-joins``.
Its core needs attrs and greenlet alone; whoever imports more does so in `needing`, which says what to install.
"""

from __future__ import annotations

import os
import sys
import warnings
from contextlib import contextmanager
from importlib.util import find_spec
from typing import TYPE_CHECKING, Final

from cartesius.errors import NotInstalled

if TYPE_CHECKING:
    from collections.abc import Iterator

DISTRIBUTION: Final = "cartesius-joins"
SOURCE_VERSION: Final = "0+source"
"""The version of what nobody has built: a checkout."""
NAMESAKES: Final = {"restrictions": "attrs", "dsl": "pint", "spark_bridge": "pyspark"}
"""The packages installed beside this one, each with what must be there for anybody to want it."""


@contextmanager
def needing(call: str, requirement: str) -> Iterator[None]:
    """Import, in the block, what not everybody has installed; if it is not there, say what to install.

    >>> with needing("Engine.push_many", "cartesius-joins[columns]"):
    ...     import no_such_package
    Traceback (most recent call last):
    ...
    cartesius.errors.NotInstalled: Engine.push_many: expected the package no_such_package but it is not installed; \
pip install "cartesius-joins[columns]"

    Args:
        call: What the user asked for.
        requirement: What to install, as pip takes it.

    Raises:
        NotInstalled: A package of others is not there. One of ours is a mistake of ours, and its error passes as it is,
            as does that of a package which is there, but fails.
        SystemExit: It is not there, and Python imports it on the way to a command of ours that ``python -m`` runs.
    """
    try:
        yield
    except ModuleNotFoundError as error:
        missing = (error.name or "").partition(".")[0]
        if missing in {"", "cartesius", *NAMESAKES}:
            raise
        message = f'{call}: expected the package {missing} but it is not installed; pip install "{requirement}"'
        # Python is still looking for the command that it shall run: nobody can catch it, if it is one of ours.
        if sys.argv[:1] == ["-m"] and sys.orig_argv[-len(sys.argv)].split(".")[0] in NAMESAKES:
            message += ", or the extra of the command, if it has one of its name"
            raise SystemExit(message) from None
        raise NotInstalled(message, name=missing) from None


def warn_of_namesakes() -> None:
    """Warn, where `cartesius` is imported, if a package beside it is hidden by a user's module of the same name.

    A warning, as such a user may not want ours; and not of what cannot be wanted, since its extra is not installed.
    """
    beside = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
    for name, needed in NAMESAKES.items():
        ours = os.path.join(beside, name, "__init__.py")
        found = _origin(name)
        if found is None or not os.path.exists(ours) or os.path.realpath(found) == os.path.realpath(ours):
            continue
        if find_spec(needed) is not None:
            warnings.warn(
                f"import cartesius: expected import {name} to give {ours} but got {found}, which hides it; "
                f"rename that one, or start Python with -P if the program needs nothing beside it",
                stacklevel=3,  # the line that imports cartesius
            )


def _origin(name: str) -> str | None:
    """Return the file that an import of ``name`` gives, if there is one."""
    if name in sys.modules:
        return getattr(sys.modules[name], "__file__", None)
    spec = find_spec(name)
    return spec.origin if spec else None


def __getattr__(name: str) -> str:
    """Tell the version when somebody asks: importlib.metadata costs more time than half of `cartesius`."""
    if name != "__version__":
        message = f"module 'cartesius' has no attribute {name!r}"
        raise AttributeError(message, name=name, obj=sys.modules["cartesius"])
    from importlib import metadata  # noqa: PLC0415 - as said above

    here = os.path.join(os.path.dirname(os.path.abspath(__file__)), "__init__.py")
    try:
        installed = metadata.distribution(DISTRIBUTION)
    except metadata.PackageNotFoundError:
        return SOURCE_VERSION
    # A checkout may come before what is installed on the path, and is another version.
    there = str(installed.locate_file("cartesius/__init__.py"))
    return installed.version if os.path.realpath(there) == os.path.realpath(here) else SOURCE_VERSION
