"""After every call of every law each delivery is in one place, and few versions are found as many are."""

import pytest

from cartesius.storage import version_memories
from tests.conservation import checking


@pytest.fixture(autouse=True)
def _conserving(monkeypatch: pytest.MonkeyPatch) -> None:
    checking(monkeypatch)
    monkeypatch.setattr(version_memories, "LEAST", 1)
