"""The page's server: what it answers, and to whom. In the browser: two people edit, judge and save rules."""

from __future__ import annotations

import shutil
from pathlib import Path
from threading import Event, Thread
from typing import TYPE_CHECKING

import pytest
import uvicorn
from starlette.testclient import TestClient

from cartesius.pages import local_pages
from cartesius.pages.local_pages import LARGEST, application, serve
from dsl.editor import drafts
from dsl.editor.edit_server import page_of
from dsl.editor.file_on_disk import File
from tests.browsers import served
from tests.unit.dsl.test_edit_texts import HARBOUR_RULES

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from playwright.sync_api import Browser, Locator, Page

TOKEN = {"X-Token": "secret"}
SCRIPTS = sorted(path.name for path in Path(drafts.__file__).parent.glob("*.js"))


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return Path(shutil.copy(HARBOUR_RULES, tmp_path / "harbour.rules"))


@pytest.fixture
def client(path: Path) -> TestClient:
    return TestClient(application(page_of(File(path)), "secret"), base_url="http://127.0.0.1:8000")


def ask(client: TestClient, question: str, /, **draft: object) -> tuple[int, dict[str, object]]:
    answer = client.post(f"/api/{question}", json=draft, headers=TOKEN)
    return answer.status_code, answer.json()


def test_the_page_has_no_secret_and_lets_nothing_else_run(client: TestClient):
    """Any user of the machine may ask for it."""
    page = client.get("/")
    assert page.status_code == 200
    assert not any("secret" in client.get(f"/{name}").text for name in ("", "common.js", "page.css", *SCRIPTS))
    policy = page.headers["content-security-policy"]
    assert "default-src 'none'" in policy
    assert "unsafe" not in policy
    for name, kind in (
        *((style, "text/css") for style in ("common.css", "page.css")),
        *((script, "text/javascript") for script in ("common.js", *SCRIPTS)),
    ):
        assert client.get(f"/{name}").headers["content-type"].startswith(kind)
        assert f'"{name}"' in page.text
    assert "http" not in page.text.replace("http-equiv", "")
    assert all(each.headers["x-content-type-options"] == "nosniff" for each in (page, client.get("/page.js")))


@pytest.mark.parametrize("name", ["page.py", "..%2fdrafts.py", "%2e%2e/drafts.py", "rules.lark", "x"])
def test_nothing_but_the_page_is_served(client: TestClient, name: str):
    assert client.get(f"/{name}").status_code == 404


def test_another_host_name_is_not_answered(client: TestClient):
    assert client.get("/", headers={"Host": "evil.example"}).status_code == 400
    assert client.post("/api/load", json={}, headers={**TOKEN, "Host": "evil.example:8000"}).status_code == 400
    assert client.get("/", headers={"Host": "localhost:1"}).status_code == 200


@pytest.mark.parametrize("headers", [{}, {"X-Token": "guess"}, {"X-Token": ""}])
def test_who_was_not_given_the_token_is_refused(client: TestClient, headers: dict[str, str], path: Path):
    before = path.read_text(encoding="utf-8")
    for question in ("load", "read", "edit", "judge", "compare", "backtest", "save"):
        assert client.post(f"/api/{question}", json={"text": ""}, headers=headers).status_code == 403
    assert path.read_text(encoding="utf-8") == before


def test_the_token_is_in_the_address_that_is_printed_and_new_each_time(
    path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
):
    given: list[str] = []
    monkeypatch.setattr(uvicorn.Server, "run", lambda self, sockets: None)
    monkeypatch.setattr(local_pages, "application", lambda page, secret, hosts: given.append(secret))
    for _ in range(2):
        with local_pages.listening(0) as sockets:
            serve(page_of(File(path)), sockets, browse=False, said="Editing")
    assert len({*given}) == 2
    assert all(len(secret) >= 40 for secret in given)
    said = capsys.readouterr().out.splitlines()
    assert all(f"/#{secret} " in line for secret, line in zip(given, said, strict=True))


def in_chunks(size: int, number: int = 1) -> Iterator[bytes]:
    for _ in range(number):
        yield b"0" * size


HOSTILE = [
    "[" * 200_000,
    '{"text":' * 100_000,
    '{"text": "\\ud800"}',
    '{"text": "pack: \\ud800"}',
    '{"text": ' + "9" * 5_000 + "}",
]


@pytest.mark.parametrize("body", HOSTILE, ids=lambda body: body[:12])
@pytest.mark.parametrize("question", ["read", "edit", "expression", "judge", "save"])
def test_no_body_is_more_than_refused(client: TestClient, question: str, body: str):
    answer = client.post(f"/api/{question}", content=body.encode(), headers=TOKEN)
    assert 400 <= answer.status_code < 500
    assert answer.json()["error"]


@pytest.mark.parametrize(
    ("question", "asked", "said"),
    [
        ("edit", {"edit": "replace", "number": 0, "head": "x", "properties": 5}, "properties as an object but got 5"),
        ("edit", {"edit": "add", "properties": [[]]}, "properties as an object but got [[]]"),
        ("judge", {"rows": None}, "rows as an object but got None"),
        ("judge", {"rows": {"vessel": 5}}, "a list of the rows of 'vessel' but got 5"),
        ("judge", {"rows": {"vessel": [5]}}, "a row of 'vessel' as an object but got 5"),
        ("judge", {"rows": {"vessel": [None]}}, "a row of 'vessel' as an object but got None"),
    ],
)
def test_what_a_question_is_asked_with_is_looked_at(client: TestClient, path: Path, question, asked, said):
    status, answer = ask(client, question, text=path.read_text(encoding="utf-8"), **asked)
    assert (status, answer["error"]) == (422, f"expected {said}")


UNITS = ["1e99999999", "9**9**9", "9 ** 9", "1e9", "m**999999999", "_" * 9, "", " ", "m * " * 400 + "m"]


@pytest.mark.parametrize("unit", UNITS, ids=lambda unit: unit[:12])
def test_no_unit_is_computed_for_long(client: TestClient, unit: str):
    text = f"pack: p\nsubject: v\nsource v by id:\n    id: number\n    x: `{unit}`\nx must be at least 5\n"
    status, answer = ask(client, "read", text=text)
    assert (status, "expected" in str(answer["error"])) == (422, True)


def test_texts_are_read_aside_and_one_at_a_time(path: Path, monkeypatch: pytest.MonkeyPatch):
    """While one text is read, the page is served, and a second text waits."""
    going, reading, others = Event(), [], []

    def read(draft: dict[str, object], _: str) -> dict[str, object]:
        reading.append(draft["text"])
        assert going.wait(10)
        others.append(list(reading))
        return {}

    monkeypatch.setitem(drafts.ANSWERS, "read", read)
    with TestClient(application(page_of(File(path)), "secret"), base_url="http://127.0.0.1:8000") as client:
        threads = [Thread(target=ask, args=(client, "read"), kwargs={"text": text}) for text in "ab"]
        for thread in threads:
            thread.start()
        assert client.get("/").status_code == 200
        assert len(reading) <= 1
        going.set()
        for thread in threads:
            thread.join()
    assert [len(each) for each in others] == [1, 2]


def test_a_request_is_a_small_object_in_json(client: TestClient):
    assert client.post("/api/load", content=b"[1]", headers=TOKEN).status_code == 400
    assert client.post("/api/load", content=b"no json", headers=TOKEN).status_code == 400
    assert client.post("/api/load", content=b"\xff", headers=TOKEN).status_code == 400
    assert client.post("/api/read", content=b"0" * (LARGEST + 1), headers=TOKEN).status_code == 413
    assert client.post("/api/read", content=in_chunks(100_000, 50), headers=TOKEN).status_code == 413  # says no length
    assert ask(client, "nothing") == (404, {"error": "there is no question 'nothing'"})
    assert client.get("/api/load", headers=TOKEN).status_code == 405


def test_load_edit_judge_and_save(client: TestClient, path: Path):
    _, file = ask(client, "load")
    status, answer = ask(
        client, "edit", text=file["text"], edit="replace", number=0, head="wind velocity must be at most 20 kn"
    )
    assert status == 200
    rows = {"vessel": [{"mmsi": "1"}], "wind": [{"velocity": "25"}]}
    status, verdict = ask(client, "judge", text=answer["text"], rows=rows)
    assert (status, verdict["status"]) == (200, "restricted")
    status, saved = ask(client, "save", text=answer["text"], version=file["version"])
    assert status == 200
    assert path.read_text(encoding="utf-8") == answer["text"]
    assert (path.parent / str(saved["backup"])).read_text(encoding="utf-8") == file["text"]


def test_errors_are_answers_with_the_message(client: TestClient, path: Path):
    _, file = ask(client, "load")
    status, answer = ask(client, "read", text=f"{file['text']}\ndraught must be at most 3 kn")
    assert status == 422
    assert "expected two operands of one dimension" in str(answer["error"])
    assert "^^^" in str(answer["error"])
    assert ask(client, "edit", text=file["text"], edit="explode", number=0)[0] == 422
    assert ask(client, "edit", text=file["text"], edit="delete", number=99)[0] == 422
    assert ask(client, "expression", text=file["text"], expression="draught +")[0] == 422
    assert ask(client, "expression", text=file["text"], expression="draught * length")[1]["unit"] == "m²"
    path.write_text("pack: other\n", encoding="utf-8")
    status, answer = ask(client, "save", text=file["text"], version=file["version"])
    assert (status, path.read_text(encoding="utf-8")) == (409, "pack: other\n")
    status, found = ask(client, "compare", version=file["version"], base=file["text"], text=file["text"])
    assert (status, found["changed"], found["text"], found["mine"]) == (200, True, "pack: other\n", [])
    path.unlink()
    assert ask(client, "load")[0] == 422


# --------------------------------------------------------------------------------------------------------- the browser


@pytest.fixture
def address(path: Path) -> Iterator[str]:
    with served(application(page_of(File(path)), "secret"), "secret") as address:
        yield address


@pytest.fixture
def pages(browser: Browser, address: str) -> Iterator[Callable[[], Page]]:
    """Gives tabs with the page; in the end no script of theirs failed, and nothing was asked of elsewhere."""
    failures: list[str] = []
    asked: list[str] = []
    context = browser.new_context()

    def opened() -> Page:
        page = context.new_page()
        page.on("pageerror", lambda error: failures.append(str(error)))
        page.on("request", lambda request: asked.append(request.url))
        page.goto(address)
        page.locator("#rule-1").wait_for()
        return page

    yield opened
    context.close()
    assert failures == []
    assert [url for url in asked if not url.startswith(address.partition("#")[0])] == []


def value(page: Page, what: str) -> Locator:
    return page.get_by_label(f"{what}: value", exact=True)


def test_in_the_browser_a_rule_is_edited_judged_and_saved(pages: Callable[[], Page], path: Path):
    from playwright.sync_api import expect

    before = path.read_text(encoding="utf-8")
    page = pages()
    rule, verdict = page.locator("#rule-1"), page.locator("#verdict")

    # The example is judged as it is typed; what is not known is called as in the sentences.
    for label, typed in {"vessel mmsi": "1", "vessel length": "210", "wind velocity": "30"}.items():
        page.get_by_label(label, exact=True).fill(typed)
    page.get_by_label("tugs available", exact=True).fill("2")
    expect(verdict.locator("strong")).to_have_text("unknown")
    expect(verdict).to_contain_text("not known: destination, vessel type")
    expect(verdict).not_to_contain_text("missing")
    expect(rule).not_to_have_class("rule sentence failed")

    # By keyboard: the rule's limit and unit change, and with them the sentence and the verdict.
    rule.get_by_role("button", name="Edit: wind limit from 200 m").press("Enter")
    limit, unit = value(page, "Requirement"), page.get_by_label("value, unit")
    assert unit.last.locator("option").all_inner_texts() == ["kn", "m/s", "km/h", "mph"]
    limit.fill("12")
    unit.last.select_option("m/s")
    sentence = "when length is at least 200 m: wind velocity must be at most 12 m/s"
    expect(page.get_by_label("The sentence")).to_have_text(sentence)
    expect(verdict.locator("strong")).to_have_text("restricted")
    expect(verdict).to_contain_text("wind limit from 200 m")
    assert path.read_text(encoding="utf-8") == before
    value(page, "Condition 1").fill("150")
    page.get_by_role("button", name="Apply", exact=True).press("Enter")
    expect(rule).to_contain_text("when length is at least 150 m: wind velocity must be at most 12 m/s")
    expect(page.get_by_role("button", name="Edit: wind limit from 200 m")).to_be_focused()

    # A rule is added by choosing, then the file is saved.
    page.get_by_role("button", name="Add a rule", exact=True).click()
    page.get_by_label("Requirement: what is observed").select_option("vessel type")
    page.get_by_label("Requirement: comparison").select_option("not")
    value(page, "Requirement").select_option("bulker")
    page.get_by_label("Name", exact=True).fill("no bulkers")
    page.get_by_role("button", name="Apply", exact=True).click()
    expect(page.locator("#rule-11 .sentence")).to_have_text('vessel type must not be "bulker"')
    expect(page.locator("#state")).to_have_text("· not saved")
    page.keyboard.press("Control+s")
    expect(page.locator("#state")).to_contain_text("saved; the last version is in harbour.rules.bak")
    old = "length is at least 200 m: wind velocity must be at most 35 kn"
    after = before.replace(old, "length is at least 150 m: wind velocity must be at most 12 m/s")
    assert path.read_text(encoding="utf-8") == after + '\nvessel type must not be "bulker"\n    name: no bulkers\n'


def test_in_the_browser_what_is_typed_counts_as_unsaved_and_ctrl_s_applies_it(pages: Callable[[], Page], path: Path):
    from playwright.sync_api import expect

    page = pages()
    state, form = page.locator("#state"), page.locator(".editor")
    expect(state).to_have_text("· saved")
    page.locator("#edit-1").click()
    expect(state).to_have_text("· a rule is open and not applied")
    page.keyboard.press("Control+s")  # nothing was typed: nothing to apply, nothing to save
    expect(form).to_have_count(0)
    expect(state).to_have_text("· saved")

    # A wrong number is refused in plain words, beside the form, and loses nothing.
    page.locator("#edit-1").click()
    for typed, said in (
        ("long", "Condition 1: a number is needed"),
        ("12,5", "with a point: 12.5"),
        ("", "a number is needed"),
    ):
        value(page, "Condition 1").fill(typed)
        page.keyboard.press("Control+s")
        expect(form.get_by_role("alert")).to_contain_text(said)
        expect(value(page, "Condition 1")).to_be_focused()
        expect(value(page, "Condition 1")).to_have_attribute("aria-invalid", "true")

    # Another button throws nothing away, and Ctrl+S twice applies once.
    value(page, "Condition 1").fill("150")
    expect(form.locator(".problem")).to_be_hidden()
    for number, button in ((0, "Edit"), (2, "Delete"), (0, "Add a rule below")):
        page.locator(f"#rule-{number} > .row").get_by_role("button", name=f"{button}:").click()
        expect(form.get_by_role("alert")).to_contain_text("This rule is still open")
    expect(value(page, "Condition 1")).to_have_value("150")
    page.evaluate("save(); save()")
    expect(state).to_contain_text("saved; the last version is in harbour.rules.bak")
    assert path.read_text(encoding="utf-8").count("when length is at least 150 m") == 1

    # The whole text is alike.
    page.get_by_role("button", name="Whole text").click()
    page.locator("#text").fill(path.read_text(encoding="utf-8").replace("150 m", "140 m"))
    expect(state).to_have_text("· the whole text is changed and not applied")
    page.locator("#edit-0").click()
    expect(page.locator("#problem")).to_contain_text("apply it (Ctrl+S) or cancel it first")
    page.keyboard.press("Control+s")
    expect(state).to_contain_text("saved; the last")
    assert "when length is at least 140 m" in path.read_text(encoding="utf-8")

    # Numbers of the example are checked where they are typed, and no button is a sign alone.
    page.get_by_label("wind velocity", exact=True).fill("strong")
    expect(page.locator("#situation .wrong:not(:empty)")).to_have_text("a number is needed, such as 15")
    page.locator("#edit-1").click()
    words = page.get_by_role("button").all_inner_texts()
    assert all(any(each.isalpha() for each in button) for button in words)
    assert {"↑ Up", "↓ Down", "✕ Delete", "✕ Remove"} <= {*words}

    # It all fits a phone.
    page.set_viewport_size({"width": 390, "height": 844})
    assert page.evaluate("document.documentElement.scrollWidth") == 390


def test_in_the_browser_the_whole_text_of_a_file_with_other_line_ends_is_not_changed(
    pages: Callable[[], Page], path: Path
):
    from playwright.sync_api import expect

    path.write_bytes(path.read_bytes().replace(b"\n", b"\r\n"))
    page = pages()
    page.get_by_role("button", name="Whole text").click()
    expect(page.locator("#state")).to_have_text("· saved")

    # Somebody else's file may be no text at all; taking it is refused in words.
    page.locator("#text").fill("pack: mine")
    path.write_bytes(b"\xff")
    page.evaluate("look()")
    page.locator("#close-text").click()
    page.get_by_role("button", name="Take theirs").click()
    expect(page.locator("#problem")).to_contain_text("harbour.rules: is no text in UTF-8")


def test_in_the_browser_the_second_of_two_is_told_and_chooses(pages: Callable[[], Page], path: Path):
    from playwright.sync_api import expect

    before = path.read_text(encoding="utf-8")
    first, second = pages(), pages()

    def typed(page: Page, limit: str) -> None:
        page.locator("#edit-0").click()
        page.get_by_label("Name", exact=True).fill(limit)

    typed(first, "first")
    first.keyboard.press("Control+s")
    expect(first.locator("#state")).to_contain_text("saved; the last")

    # The other tab is told when it saves, sees both changes, and its text is not written.
    typed(second, "second")
    second.keyboard.press("Control+s")
    told = second.locator("#changed")
    expect(told).to_contain_text("harbour.rules was changed by somebody else, or in another tab, on ")
    expect(told.locator("ins")).to_have_text(["new: +     name: first", "new: +     name: second"])
    assert path.read_text(encoding="utf-8") == before.replace("name: wind limit\n", "name: first\n")

    # It takes the other's, and has its own under Undo.
    told.get_by_role("button", name="Take theirs").click()
    expect(second.locator("#rule-0 b")).to_have_text("first")
    expect(told).to_be_hidden()
    second.locator("#undo").click()
    expect(second.locator("#rule-0 b")).to_have_text("second")
    second.keyboard.press("Control+s")
    expect(second.locator("#state")).to_contain_text("saved; the last")

    # An editor outside writes; who looks at the page again is told, keeps the own text, and theirs is not lost.
    typed(second, "third")
    path.write_text(path.read_text(encoding="utf-8") + "# outside\n", encoding="utf-8")
    second.evaluate("window.dispatchEvent(new Event('focus'))")
    expect(told).to_contain_text("+ # outside")
    told.get_by_role("button", name="Save mine").click()
    expect(told).to_be_hidden()
    expect(second.locator("#state")).to_have_text("· saved")
    assert "name: third" in path.read_text(encoding="utf-8")
    assert path.with_name("harbour.rules.bak").read_text(encoding="utf-8").endswith("# outside\n")
    second.locator("#undo").click()
    expect(second.locator("#text")).to_have_value(path.with_name("harbour.rules.bak").read_text(encoding="utf-8"))

    # Who has changed nothing has the new text at once, and the old one under Undo.
    expect(first.locator("#rule-0 b")).to_have_text("first")
    first.bring_to_front()
    first.evaluate("window.dispatchEvent(new Event('focus'))")
    expect(first.locator("#rule-0 b")).to_have_text("third")
    expect(first.locator("#state")).to_contain_text("the file was changed elsewhere")

    # A file that is gone is said to be, and written again if that is wanted.
    typed(first, "fourth")
    path.unlink()
    first.keyboard.press("Control+s")
    expect(first.locator("#changed")).to_contain_text("harbour.rules is no longer there")
    first.get_by_role("button", name="Write mine").click()
    expect(first.locator("#changed")).to_be_hidden()
    assert "name: fourth" in path.read_text(encoding="utf-8")


HELD = """() => {
  const real = answered;
  const held = new Promise((resolve) => { window.release = resolve; });
  window.answered = async (question, ...given) => {
    if (question !== "judge") await held;
    return real(question, ...given);
  };
}"""
"""Lets no answer come before `release()`, as while the server compares."""


def press(page: Page, rule: str, *tools: str) -> None:
    for tool in tools:
        page.get_by_role("button", name=f"{tool}: {rule}", exact=True).press("Enter")


@pytest.fixture
def small(path: Path) -> None:
    """Make it a file of five rules, `a` to `e`."""
    rules = (f"length must be at most {limit} m\n    name: {name}\n" for limit, name in enumerate("abcde", 5))
    path.write_text(KINDS + "\n".join(rules), encoding="utf-8")


@pytest.mark.usefixtures("small")
def test_in_the_browser_edits_wait_for_those_under_way(pages: Callable[[], Page]):
    """Each is of the rule that was shown, in the text that the last has left."""
    from playwright.sync_api import expect

    page = pages()
    names, focused = page.locator("#list b"), page.locator(":focus")
    page.evaluate(HELD)
    press(page, "a", "Delete")
    press(page, "b", "Delete")
    press(page, "c", "Move down", "Move down")
    assert names.all_inner_texts() == [*"abcde"]
    page.evaluate("release()")
    expect(names).to_have_text([*"dec"])
    expect(focused).to_have_attribute("aria-label", "Move down: c")

    # What is pressed after Undo is meant of the rules that are shown.
    page.evaluate(HELD)
    page.locator("#undo").press("Enter")
    press(page, "d", "Delete")
    page.evaluate("release()")
    expect(names).to_have_text([*"ce"])
    expect(focused).to_have_attribute("aria-label", "Edit: c")
    press(page, "c", "Delete")
    expect(focused).to_have_attribute("aria-label", "Edit: e")

    # A rule that is gone by then is no other.
    page.evaluate(HELD)
    press(page, "e", "Delete", "Delete")
    page.evaluate("release()")
    expect(page.locator("#problem")).to_contain_text("The rules have changed since this button was pressed")


@pytest.mark.usefixtures("small")
def test_in_the_browser_a_step_back_that_nobody_answers_is_not_made(pages: Callable[[], Page]):
    """The rules went from the page, and the text was shown as if it were wrong."""
    from playwright.sync_api import expect

    page = pages()
    names = page.locator("#list b")
    press(page, "a", "Delete")
    expect(names).to_have_text([*"bcde"])
    page.route("**/api/read", lambda route: route.abort())
    page.locator("#undo").click()
    expect(page.locator("#problem")).to_contain_text("The editor has ended")
    expect(names).to_have_text([*"bcde"])
    expect(page.locator("#text")).to_be_hidden()
    page.unroute("**/api/read")
    page.locator("#undo").click()
    expect(names).to_have_text([*"abcde"])
    expect(page.locator("#problem")).to_be_hidden()


@pytest.mark.usefixtures("small")
def test_in_the_browser_what_is_typed_while_an_edit_is_under_way_stays(pages: Callable[[], Page], path: Path):
    from playwright.sync_api import expect

    page = pages()
    state, because, whole = page.locator("#state"), page.get_by_label("Because", exact=True), page.locator("#text")
    press(page, "a", "Move down")
    expect(page.locator("#list b")).to_have_text([*"bacde"])
    for tool in ("Delete: b", "Undo"):
        press(page, "e", "Edit")
        page.evaluate(HELD)
        page.get_by_role("button", name=tool, exact=True).click()
        because.fill("one")
        page.evaluate("release()")
        expect(page.locator(".editor").get_by_role("alert")).to_contain_text("This rule is still open")
        expect(because).to_have_value("one")
        expect(page.locator("#list b")).to_have_text([*"bacd"])
        page.keyboard.press("Escape")

    # What is typed on after Ctrl+S is saved with the rest.
    press(page, "e", "Edit")
    because.fill("one")
    page.evaluate(HELD)
    page.keyboard.press("Control+s")
    because.press_sequentially(" two")
    page.evaluate("release()")
    expect(state).to_contain_text("saved; the last")
    after = path.read_text(encoding="utf-8")
    assert after.endswith("    name: e\n    because: one two\n")
    page.get_by_role("button", name="Whole text").click()
    whole.fill(after + "# three")
    page.evaluate(HELD)
    page.keyboard.press("Control+s")
    whole.press_sequentially(" four")
    page.evaluate("release()")
    expect(whole).to_be_hidden()
    expect(state).to_contain_text("saved; the last")
    assert path.read_text(encoding="utf-8") == after + "# three four"

    # Beside a form, too.
    press(page, "a", "Edit")
    page.get_by_role("button", name="Whole text").click()
    whole.fill("typed")
    because.press("Escape")
    expect(whole).to_have_value("typed")


def test_in_the_browser_rules_that_are_called_alike_are_told_apart(pages: Callable[[], Page], path: Path):
    """Also while a rule is added between them; and a choice that is declared no longer is not known."""
    from playwright.sync_api import expect

    rules = [f"at {place}: length must be at most 5 m\n" for place in "ABC"]
    path.write_text(KINDS + "\n".join(rules), encoding="utf-8")
    page = pages()
    for label, typed in {"vessel name": "B", "vessel length": "6"}.items():
        page.get_by_label(label, exact=True).fill(typed)
    failed = page.locator(".failed .sentence")
    expect(failed).to_have_text(["at B: length must be at most 5 m"])
    page.locator("#add-0").press("Enter")
    page.get_by_label("Requirement: what is observed").select_option("length")
    value(page, "Requirement").fill("7")
    expect(page.locator("#verdict b")).to_have_text(["length must be at least 7 m", "length must be at most 5 m"])
    expect(failed).to_have_text(["at B: length must be at most 5 m"])
    page.keyboard.press("Escape")
    page.get_by_label("vessel kind", exact=True).select_option("a")
    page.evaluate("""async () => {
      openText(true);
      by("text").value = state.text.replace('"a"', '"c"') + '\\nkind must be "c"\\n';
      await inTurn(applyText);
    }""")
    expect(page.locator("#verdict")).to_contain_text("not known: kind")


KINDS = """pack: kinds
subject: vessel
location: name
source vessel by mmsi:
    mmsi: number
    name: text
    flow: m³/h
    temperature: °C
    ratio: number
    share: %
    length: metres, optional
    eta: instant
    has pilot: yes or no
    kind: one of "a", "b"
"""
BECAUSE = r'    because: " two\nlines"' + "\n    severity: major\n"
SENTENCES = (
    "flow must be at most 3 m³/s",
    "temperature must be at most 300 K",
    "ratio must be at most 50 %",
    "share must be at most 0.5",
    "length must be at most 2 `furlong`",
    "length must be at most 1500 centimetres",
    "length must be known",
    "has pilot must not be true",
    "when has pilot is not true: length must be at most 3 m",
    "when has pilot, when ratio is 5e-7: length must not be 3 m",
    "eta must be between 2026-05-01 14:30Z and 2026-05-02 14:30Z",
    "when eta is between 2026-05-01 14:30Z and 2026-05-02 14:30Z: length must be at most 3 m",
    'name must be " x "',
    r'name must be "a\nb"',
    'kind must not be "a"',
    "at berth  A, at berth_B: length  must be  at most 3  m",
)


def test_in_the_browser_a_source_may_be_called_as_what_every_object_has(pages: Callable[[], Page], path: Path):
    from playwright.sync_api import expect

    path.write_text(KINDS.replace("vessel", "constructor").replace("ratio", "valueOf") + "\n".join(SENTENCES[:2]))
    page = pages()
    expect(page.locator("#verdict strong")).to_have_text("unknown")
    assert {*page.locator("#situation input").evaluate_all("all => all.map((each) => each.value)")} == {""}


def test_in_the_browser_a_rule_that_is_renamed_says_what_it_said(browser: Browser, tmp_path: Path):
    """A form that cannot hold a condition, such as one with another unit, has it as text."""
    renamed = """async (number) => {
      state.open = { number };
      show();
      const name = document.querySelector(".properties input");
      name.value = "renamed";
      name.dispatchEvent(new Event("input"));
      await state.form.apply();
    }"""
    said = """state.outline.items.filter((item) => item.kind === "sentence")
      .map((item) => [headOf(item), editor(item).querySelector(".preview").textContent])"""
    kinds = tmp_path / "kinds.rules"
    before = "\n".join([KINDS, *(f"{sentence}\n{BECAUSE}" for sentence in SENTENCES)])
    kinds.write_text(before, encoding="utf-8")
    page = browser.new_page()
    for rules in (kinds, HARBOUR_RULES, HARBOUR_RULES.with_name("new_york.rules")):
        with served(application(page_of(File(rules)), "secret"), "secret") as address:
            page.goto(address)
            page.locator("#rule-1").wait_for()
            sentences = page.evaluate(said)
            if rules == kinds:
                for number in range(len(SENTENCES)):
                    page.evaluate(renamed, number)
                text = page.evaluate("state.text")
        assert [shown for _, shown in sentences] == [written for written, _ in sentences]
    page.close()
    assert text == before.replace(BECAUSE, f"    name: renamed\n{BECAUSE}")
