"""Fixtures of several modules: inputs, called as they are."""

from __future__ import annotations

import pytest

from cartesius import Reactive


@pytest.fixture
def a():
    return Reactive("a")


@pytest.fixture
def b():
    return Reactive("b")


@pytest.fixture
def go():
    return Reactive("go")
