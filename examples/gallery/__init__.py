"""A gallery of programs from six industries: each is at most ten lines, and runs in process and on Spark as it stands.

    advertising   which impression a click is credited to
    orders        what was shipped, and what was not paid in time
    trading       trades against the quotes of their time, corrected when a quote is
    machines      four readings that rise
    security      a login after three failures
    ships         who has too little water at the berth

A module holds one program, between its imports and its ``EXHIBIT``: the task in words, the events of a day, and how
late they may come. `exhibits` says what an exhibit is, `running` runs it, here or on Spark.

`python -m examples.gallery` shows each at work.
"""

from types import MappingProxyType
from typing import TYPE_CHECKING, Final

from examples.gallery import advertising, machines, orders, security, ships, trading

if TYPE_CHECKING:
    from collections.abc import Mapping

    from examples.gallery.exhibits import Exhibit

GALLERY: Final["Mapping[str, Exhibit]"] = MappingProxyType(
    {
        "advertising": advertising.EXHIBIT,
        "orders": orders.EXHIBIT,
        "trading": trading.EXHIBIT,
        "machines": machines.EXHIBIT,
        "security": security.EXHIBIT,
        "ships": ships.EXHIBIT,
    }
)
"""The exhibits, by the name of their industry."""

__all__ = ["GALLERY"]
