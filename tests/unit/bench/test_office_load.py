"""The measurement of the office page refuses what is no load, before it opens a browser."""

from __future__ import annotations

import pytest

from bench.office_load import main


@pytest.mark.parametrize("given", [["--seconds", "-1"], ["--rate", "nan"], ["--pages", "0"], ["--ships", "-3"]])
def test_a_load_of_nothing_is_refused(given: list[str], capsys: pytest.CaptureFixture[str]):
    with pytest.raises(SystemExit, match=r"^2$"):
        main(given)
    assert f"{given[0]}: expected a number above 0 but got {given[1]}" in capsys.readouterr().err
