"""The page that steps through a trace: who may ask, and in the browser, what is seen of the tutorial and of one's own.

What the server itself answers, and to whom, is tested with the editor's page, which it serves as well.
"""

from __future__ import annotations

import asyncio
import re
import socket
import sys
import types
from contextlib import ExitStack
from typing import TYPE_CHECKING

import pytest
import uvicorn
from starlette.testclient import TestClient

from cartesius import Engine, Reactive, correlate
from cartesius.errors import InvalidArgument
from cartesius.pages.local_pages import application
from cartesius.show.program_files import ran, recordings_of
from cartesius.show.recordings import recording_of
from cartesius.show.showing import page_of
from restrictions import cartesian
from tests.browsers import CHECKS, served
from tests.documents import DOCS, of_language

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from pathlib import Path

HOSTILE = "</pre><img src=x onerror=boom()><script>boom()</script>\u202e&lt;"
OWN = f"""
from cartesius import Engine, Reactive, correlate
from restrictions import affinely, key_by, most_recently

order, stock = Reactive("order"), Reactive("stock")
goods = correlate(
    o=order,
    s=stock,
    yields=lambda o, s: (o.item, o.by, s.shelf),
    restrict=key_by(o="item", s="item") | affinely("o") | most_recently("s"),
    name="goods <b>",
)
engine = Engine(goods)
engine.push(stock, {{"item": "tea", "shelf": 4}}, at=1)
engine.push(order, {{"item": "tea", "by": "Ann"}}, at=2)
engine.push(stock, {{"item": "tea", "shelf": 3}}, at=3)
engine.push(order, {{"item": "cup", "by": {HOSTILE!r}}}, at=4)
"""

GONE = f"""
from cartesius import Engine, Reactive, correlate
from restrictions import within

a, b, known = Reactive("a"), Reactive("b"), {{"x": "{"z" * 300}"}}
near = correlate(a=a, b=b, yields=lambda a, b: (a, known["x" if b else ""]), restrict=within(1, "a", "b"), name="near")
engine = Engine(near)
engine.push(a, "x" * 300, at=1)
engine.push(b, "y" * 300, at=20)
engine.push(b, 7, at=1)
known.clear()
"""


@pytest.fixture
def engine():
    a, b = Reactive("a"), Reactive("b")
    engine = Engine(cartesian(a, b), trace=True)
    engine.push(a, 1)
    return engine


def test_a_page_of_an_engine_answers_who_has_the_token(engine):
    page = page_of([recording_of(engine, "test")], 0, "test")
    client = TestClient(application(page, "secret"), base_url="http://127.0.0.1:8000")
    text = client.get("/").text
    for name in ("common.css", "common.js", "page.css", "page.js"):
        assert client.get(f"/{name}").status_code == 200
        assert f'"{name}"' in text
    assert not any(sign in text for sign in ("style=", "onclick", "http:", "https:"))
    assert client.get("/show_answers.py").status_code == 404
    for question in ("runs", "open", "step", "why"):
        assert client.post(f"/api/{question}", json={"run": 0}).status_code == 403
    token = {"X-Token": "secret"}
    assert client.post("/api/step", json={"run": 0, "step": 1}, headers=token).json()["step"] == 1
    refused = client.post("/api/step", json={"run": 7}, headers=token)
    assert (refused.status_code, refused.json()["error"][:5]) == (422, "show:")
    assert client.post("/api/step", json={"run": 0, "step": "x"}, headers=token).status_code == 500


def test_an_engine_shows_itself_and_says_where_until_ctrl_c(engine, monkeypatch, capsys):
    served = []

    def run(self, sockets):
        served.append(sockets[0].getsockname())
        raise KeyboardInterrupt

    monkeypatch.setattr(uvicorn.Server, "run", run)
    engine.show(browse=False)
    said = capsys.readouterr().out
    assert re.fullmatch(r"Showing cartesian\(a, b\) at http://127.0.0.1:\d+/#\S{40,} \(Ctrl-C ends it\)\n", said)
    assert served[0][0] == "127.0.0.1"
    assert [event.value for event in engine.push(engine.inputs["b"], "x")] == [(1, "x")]  # it goes on as it was


def test_in_a_notebook_it_goes_on_beside_it(engine, monkeypatch, capsys):
    notebook = types.SimpleNamespace(get_ipython=lambda: types.SimpleNamespace(kernel="here"))
    monkeypatch.setitem(sys.modules, "IPython", notebook)
    monkeypatch.setattr(uvicorn.Server, "run", lambda self, sockets: sockets[0].close())
    engine.show()
    assert capsys.readouterr().out.endswith("(until this process ends)\n")


def test_an_engine_that_does_not_record_says_what_to_write():
    engine = Engine(correlate(x=Reactive("a"), yields=lambda x: x))
    with pytest.raises(InvalidArgument, match=r"Engine.show: expected .* write Engine\(…, trace=True\)"):
        engine.show()


def test_within_an_event_loop_it_is_refused_before_anything_is_said(engine, capsys):
    async def showing():
        engine.show(browse=False)

    with pytest.raises(
        InvalidArgument, match=r"Engine.show: expected no running event loop, .* asyncio.run has returned"
    ):
        asyncio.run(showing())
    assert capsys.readouterr().out == ""


def test_a_port_that_is_taken_is_said(engine):
    with socket.create_server(("127.0.0.1", 0)) as taken, pytest.raises(OSError, match="in use"):
        engine.show(port=taken.getsockname()[1], browse=False)


# --------------------------------------------------------------------------------------------------------- the browser


@pytest.fixture
def serve() -> Iterator[Callable[[Path], str]]:
    """Serve the engines of a program, until the end of the test."""
    with ExitStack() as stack:

        def serve(path: Path) -> str:
            recordings, chosen = recordings_of(*ran(str(path), []))
            page = page_of(recordings, chosen, path.name)
            return stack.enter_context(served(application(page, "secret"), "secret"))

        yield serve


SCROLLED = """async (box) => {  // the name of a lane stays where it is seen
  box.scrollLeft = 90;
  await new Promise((done) => requestAnimationFrame(() => requestAnimationFrame(done)));
  const name = box.querySelector(".lane");
  return box.scrollLeft > 0 && name.getAttribute("transform") === `translate(${box.scrollLeft} -15)`;
}"""


def test_in_the_browser_the_tutorial_and_a_program_of_ones_own_are_stepped_through(browser, serve, tmp_path):
    from playwright.sync_api import expect

    tutorial, own = tmp_path / "tutorial.py", tmp_path / "own.py"
    chapters = [block.code for block in of_language("python", DOCS / "tutorial" / "tutorial.md")]
    tutorial.write_text("\n".join(chapters[:9]), encoding="utf-8")
    own.write_text(OWN, encoding="utf-8")
    failures: list[str] = []
    asked: list[str] = []
    page = browser.new_page(viewport={"width": 1280, "height": 900}, color_scheme="light")
    page.on("pageerror", lambda error: failures.append(str(error)))
    page.on("console", lambda message: failures.append(message.text))
    page.on("request", lambda request: asked.append(request.url))

    # A program of one's own, by keyboard: step by step, what came, what there is, and what was given of what.
    home = serve(own)
    page.goto(home)
    summary, happened, places = page.locator("#summary"), page.locator("#step"), page.locator("#places")
    expect(summary).to_have_text("Step 0 of 4: Nothing has come yet.")
    page.keyboard.press("ArrowRight")
    came = "Step 1 of 4: stock Record({'item': 'tea', 'shelf': 4}) comes, at 1. No result."
    expect(summary).to_have_text(came)
    expect(happened).to_contain_text("there is nothing in the memory of o to meet")
    page.keyboard.press("ArrowRight")
    expect(summary).to_contain_text("1 result. 1 event leaves.")
    expect(happened).to_contain_text("goods <b> ('tea', 'Ann', 4) @ 1..2")
    expect(happened).to_contain_text("o = order Record({'item': 'tea', 'by': 'Ann'}) @ 2")
    page.keyboard.press("ArrowRight")
    expect(happened).to_contain_text("was in the memory of s: displaced by most_recently('s')")
    expect(places).to_contain_text("memory: empty")
    page.keyboard.press("End")
    expect(summary).to_contain_text("Step 4 of 4")
    expect(page.locator("#number")).to_have_value("4")
    page.keyboard.press("Home")
    expect(summary).to_contain_text("Step 0 of 4")
    page.keyboard.press("Space")
    expect(page.locator("#play")).to_have_text("Pause")
    page.keyboard.press("Space")
    expect(page.locator("#play")).to_have_text("Play")

    # A marble, by keyboard, says why.
    page.keyboard.press("End")
    marble = page.locator("#picture g.now").first
    expect(marble).to_have_attribute("tabindex", "0")
    marble.focus()
    marble.press("Enter")
    expect(page.locator("#why-text")).to_contain_text("is in the memory of o")
    expect(page.locator("#why-heading")).to_be_focused()

    # What comes from outside is text: it is seen, and nothing of it runs.
    expect(places).to_contain_text("<img src=x onerror=boom()>")
    assert page.locator("img, main script").count() == 0
    assert page.locator("h3", has_text="goods <b>").count() == 1

    # Without a restriction, the difference is seen, and why it does not come as written.
    page.get_by_label("affinely('o')").uncheck()
    expect(page.locator("#counts")).to_have_text("1 result is new.")
    difference = page.locator("#differences > li")
    expect(difference).to_contain_text("goods <b> ('tea', 'Ann', 3) @ 2..3")
    expect(difference).to_contain_text("order Record({'item': 'tea', 'by': 'Ann'}) @ 2 left o: used up")
    difference.get_by_role("button", name="Step 3").click()
    expect(happened).to_contain_text("goods <b> ('tea', 'Ann', 3) @ 2..3 new")
    expect(page.locator("#picture")).to_contain_text("as written")
    assert page.evaluate(CHECKS) == []
    page.get_by_label("affinely('o')").check()
    expect(page.locator("#difference-panel")).to_be_hidden()

    # On a phone, in the dark.
    page.set_viewport_size({"width": 390, "height": 844})
    page.emulate_media(color_scheme="dark")
    page.get_by_label("most_recently('s')").uncheck()
    expect(page.locator("#counts")).to_contain_text("No result differs.")
    assert page.evaluate(CHECKS) == []
    assert page.locator("#picture").evaluate(SCROLLED)

    # A program that fails when it is made again says so, and long values are broken where the page ends.
    gone = tmp_path / "gone.py"
    gone.write_text(GONE, encoding="utf-8")
    page.goto(serve(gone))
    failure = page.locator("#failure")
    expect(failure).to_contain_text("Made again, call 3 of 3 fails, so the steps end before it: KeyError: 'x'")
    page.get_by_label("within(1, 'a', 'b')").uncheck()
    expect(failure).to_contain_text("Without what is left out, call 2 of 3 fails")
    assert page.evaluate(CHECKS) == []
    gone.write_text(GONE.replace("known.clear()", ""), encoding="utf-8")
    page.goto(serve(gone))
    expect(failure).to_be_hidden()
    page.get_by_label("within(1, 'a', 'b')").uncheck()
    expect(page.locator("#counts")).to_have_text("1 result is new.")
    assert page.evaluate(CHECKS) == []

    # The tutorial: each of its engines can be chosen; the last is that of its tables.
    page.goto(serve(tutorial))
    expect(page.locator("#run option").nth(1)).to_be_attached()
    page.locator("#run").select_option(label=page.locator("#run option", has_text="zip").first.inner_text())
    expect(summary).to_have_text("Step 0 of 4: Nothing has come yet.")
    page.locator("#happened").focus()
    for step in (1, 2, 3):
        page.keyboard.press("ArrowRight")
        expect(summary).to_contain_text(f"Step {step} of 4")
    expect(places).to_contain_text("held by aligning('tide', 'draught'): 1 event")
    page.keyboard.press("ArrowRight")
    expect(happened).to_contain_text("cartesian(tide, draught) ('t2', 'd2') @ 3..4")
    page.get_by_label("aligning('tide', 'draught')").uncheck()
    expect(page.locator("#counts")).to_contain_text("is new")
    assert page.evaluate(CHECKS) == []
    assert failures == []
    assert all(url.startswith("http://127.0.0.1:") for url in asked)
    page.close()
