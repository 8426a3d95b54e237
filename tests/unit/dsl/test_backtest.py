"""The editor says what a draft would change over a history: asked of the server, and in the browser."""

from __future__ import annotations

from contextlib import contextmanager

import pytest
from starlette.testclient import TestClient

from cartesius.pages.local_pages import application
from dsl.editor.edit_server import page_of
from dsl.editor.file_on_disk import File
from tests.browsers import served

RULES = """pack: port
subject: vessel

source vessel by mmsi:
    mmsi: number
    name: text
    draught: metres

draught must be at most 12 m
    name: draught
"""
HOSTILE = "<img src=x onerror=alert(1)>"
ROWS = [
    "time,mmsi,name,draught",
    f"2020-06-30T00:00Z,1,{HOSTILE},11",
    "2020-06-30T00:00Z,2,ORCA,9",
    "2020-06-30T01:00Z,1,EVA,deep",
    f"2020-06-30T06:30Z,1,{HOSTILE},9",
]
DRAFT = RULES.replace("12 m", "10 m") + "\ndraught must be at most 15 m\n    name: again\n"


@pytest.fixture
def path(tmp_path):
    path = tmp_path / "port.rules"
    path.write_text(RULES)
    return path


@pytest.fixture
def history(tmp_path):
    folder = tmp_path / "history"
    folder.mkdir()
    (folder / "vessel.csv").write_text("\n".join(ROWS) + "\n")
    return folder


def asked(path, data, question, **draft):
    client = TestClient(application(page_of(File(path), data), "secret"), base_url="http://127.0.0.1:8000")
    answer = client.post(f"/api/{question}", json=draft, headers={"X-Token": "secret"})
    return answer.status_code, answer.json()


def test_a_draft_is_compared_with_the_saved_file(path, history):
    status, found = asked(path, history, "backtest", text=DRAFT)
    assert status == 200
    assert (found["before"], found["after"], found["number"], found["isEmpty"]) == (0, 6.5, 1, False)
    (row,) = found["differences"]
    assert (row["subject"], row["name"], row["before"], row["after"]) == ("1", HOSTILE, "allowed", "restricted")
    assert (row["start"], row["end"], row["why"]) == ("2020-06-30\u00a000:00", "2020-06-30\u00a006:30", "+ draught")
    assert found["rules"] == [{"rule": "draught", "before": 0.0, "after": 6.5, "change": 6.5, "subjects": "0 → 1"}]
    assert [text.splitlines()[0] for text in found["findings"]] == ["port.rules:12: subsumed: again"]
    assert (found["numberUnread"], found["unread"]) == (
        1,
        ["vessel.csv, row 4: draught: expected numbers but got 'deep'"],
    )
    assert path.read_text() == RULES


def test_what_a_draft_changes_with_the_last_rows_alone_is_told(path, history):
    (history / "vessel.csv").write_text("\n".join(ROWS[:2]) + "\n")
    found = asked(path, history, "backtest", text=DRAFT)[1]
    assert (found["isEmpty"], found["after"]) == (False, 0)
    assert found["begun"] == "1 of the differences begin with the last rows, and have no hours"
    assert [(row["start"], row["end"]) for row in found["differences"]] == [("2020-06-30\u00a000:00", "the end")]
    assert [(each["rule"], each["subjects"]) for each in found["rules"]] == [("draught", "0 → 1")]


def test_a_draft_that_is_the_file_changes_nothing(path, history):
    status, found = asked(path, history, "backtest", text=f"# other words\n{RULES}")
    assert (status, found["isEmpty"], found["differences"]) == (200, True, [])


def test_without_a_history_the_page_offers_no_comparison(path, history):
    assert asked(path, None, "load")[1]["hasHistory"] is False
    assert asked(path, history, "load")[1]["hasHistory"] is True
    status, answer = asked(path, None, "backtest", text=RULES)
    assert (status, answer["error"]) == (
        422,
        "expected a history to compare over but there is none; start the editor with --data FOLDER",
    )


def test_a_draft_that_observes_what_the_history_lacks_is_answered_with_the_reason(path, history):
    status, answer = asked(path, history, "backtest", text=RULES.replace("name: text", "nome: text"))
    assert status == 422
    assert "expected the column 'nome'" in answer["error"]
    assert "did you mean 'name'?" in answer["error"]


@contextmanager
def opened(browser, path, data):
    with served(application(page_of(File(path), data), "secret"), "secret") as address:
        page = browser.new_page(viewport={"width": 390, "height": 800})
        failures: list[str] = []
        page.on("pageerror", lambda error: failures.append(str(error)))
        page.on("dialog", lambda dialog: failures.append(dialog.message))
        page.goto(address)
        page.locator("#rule-0").wait_for()
        yield page
        page.close()
        assert failures == []


def test_in_the_browser_the_draft_s_changes_are_shown_and_grow_old(browser, path, history):
    from playwright.sync_api import expect

    with opened(browser, path, history) as page:
        panel = page.locator("#backtest-panel")
        expect(panel).to_be_hidden()
        page.get_by_role("button", name="Whole text").click()
        page.get_by_label("The whole text of the file").fill(DRAFT)
        page.get_by_role("button", name="Compare with the saved file").click()
        expect(page.locator("#problem")).to_contain_text("The whole text is changed: apply it")
        page.get_by_role("button", name="Apply", exact=True).click()
        expect(page.locator("main")).to_contain_text("draught must be at most 15 m")  # it is applied
        page.get_by_role("button", name="Compare with the saved file").click()
        expect(panel).to_contain_text("Restricted for 0.0 vessel-hours before, 6.5 after (+6.5)")
        expect(page.locator("#backtest-heading")).to_be_focused()
        expect(panel.get_by_role("region", name="When it differs")).to_contain_text(f"1 {HOSTILE}")
        expect(panel).to_contain_text("1 rows cannot be read, and were not used")
        expect(panel).to_contain_text("subsumed: again")
        assert page.evaluate("() => document.documentElement.scrollWidth <= innerWidth")
        expect(page.locator("#backtest-age")).to_be_hidden()
        page.get_by_role("button", name="Undo").click()
        expect(page.locator("#backtest-age")).to_have_text("The text has changed since: compare again.")
        page.get_by_role("button", name="Compare with the saved file").click()
        expect(panel).to_contain_text("Nothing changes")
        page.get_by_role("button", name="Close").click()
        expect(panel).to_be_hidden()
    assert path.read_text() == RULES
