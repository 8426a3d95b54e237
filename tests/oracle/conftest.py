"""After every call of every law each delivery is in one place."""

import pytest

from tests.conservation import checking


@pytest.fixture(autouse=True)
def _conserving(monkeypatch: pytest.MonkeyPatch) -> None:
    checking(monkeypatch)
