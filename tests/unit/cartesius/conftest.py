"""Fixtures of several modules."""

from __future__ import annotations

import pytest

from cartesius import (
    Reactive,
)


@pytest.fixture
def a():
    return Reactive("a")


@pytest.fixture
def b():
    return Reactive("b")
