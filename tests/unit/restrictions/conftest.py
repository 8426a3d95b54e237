"""Fixtures of several modules: inputs, called as they are."""

from __future__ import annotations

import pytest

from cartesius import Reactive


@pytest.fixture
def xs():
    return Reactive("xs")


@pytest.fixture
def ys():
    return Reactive("ys")
