"""The office's page in a real browser, over made-up boards: what is seen, said and kept, and what may not get in."""

# ruff: noqa: E501, RUF001 - scripts of the page, and what it shows

from __future__ import annotations

import itertools
import random
from typing import TYPE_CHECKING, Any

import pytest

from tests.browsers import CHECKS, served
from tests.unit.examples.office_board import CLEARANCE, GUST, NOW, SECRET, MadeUp, at, board, day, iso, ship, ships

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from playwright.sync_api import Browser, Locator, Page

RECORD = """
window.violations = [];
document.addEventListener("securitypolicyviolation", (one) => violations.push(one.violatedDirective));
window.boom = () => violations.push("boom");
"""
SHOWN = "number => Number(document.body.dataset.event.split('-')[1]) >= number"


@pytest.fixture
def office() -> MadeUp:
    return MadeUp()


@pytest.fixture
def opened(browser: Browser, office: MadeUp) -> Iterator[Callable[..., Page]]:
    """Opens the page; in the end no script failed, no policy was hurt, and nothing was asked of elsewhere."""
    failures: list[str] = []
    asked: list[str] = []
    contexts: list[Any] = []
    pages: list[Page] = []
    with served(office.application(), SECRET) as address:

        def opened(**options: Any) -> Page:
            options = {"viewport": {"width": 1300, "height": 900}, "color_scheme": "light", **options}
            contexts.append(browser.new_context(**options))
            contexts[-1].add_init_script(RECORD)
            page = contexts[-1].new_page()
            pages.append(page)
            page.on("pageerror", lambda error: failures.append(str(error)))
            page.on("request", lambda request: asked.append(request.url))
            page.goto(address)
            page.locator("#mode", has_text="live").wait_for()
            return page

        yield opened
        violations = [page.evaluate("violations") for page in pages]
        for context in contexts:
            context.close()
        office.running = False
    assert failures == []
    assert violations == [[] for _ in pages]
    assert [url for url in asked if not url.startswith(address.partition("#")[0])] == []


def row(page: Page, name: str) -> Locator:
    return page.locator("#rows tr", has=page.get_by_role("button", name=name, exact=True))


def laid_out(page: Page) -> None:
    """Wait until what is seen has been laid out: rows out of sight have no text that could be read."""
    page.evaluate("() => new Promise((done) => requestAnimationFrame(() => requestAnimationFrame(done)))")


def texts(page: Page, name: str) -> list[str]:
    laid_out(page)
    return [" ".join(each.split()) for each in row(page, name).locator("td").all_inner_texts()]


def order(page: Page) -> list[str]:
    return page.locator("#rows th").all_text_contents()


def test_ships_stand_by_urgency_with_verdict_reason_value_limit_margin_and_age(opened):
    page = opened()
    assert order(page) == ["GUNVOR MAERSK", "STENA PARIS", "EVA", "MOONLIGHT", "ORCA"]
    why = f"{CLEARANCE['because']} (and 1 more)"
    assert texts(page, "GUNVOR MAERSK") == ["✗ restricted", why, "0.31 m", "0.5 m", "-0.19 m", "4 min ago"]
    foreseen = "Foreseen: restricted from 15:20: gusts of 48 kn are forecast"
    assert texts(page, "STENA PARIS") == ["✓ allowed", foreseen, "–", "–", "–", "4 min ago"]
    assert texts(page, "EVA")[:2] == ["? unknown", "not known: draught, water level"]
    assert texts(page, "MOONLIGHT") == ["? unknown", "not known", "–", "–", "–", "never"]
    assert page.locator("#counts").inner_text().split() == [
        "✗",
        "restricted",
        "1",
        "?",
        "unknown",
        "2",
        "✓",
        "allowed",
        "2",
    ]
    assert page.locator("#now").inner_text() == "30 June 2020, 14:05:00 UTC"


def test_ships_are_found_by_name_number_and_verdict(opened):
    page = opened()
    page.get_by_role("searchbox").fill("maer")
    assert order(page) == ["GUNVOR MAERSK"]
    assert page.locator("#shown").inner_text() == "1 ship of 5"
    page.get_by_role("searchbox").fill("4")
    assert order(page) == ["STENA PARIS"]
    page.get_by_role("searchbox").fill("nobody")
    assert page.locator("#shown").inner_text() == "No ship is like that."
    page.get_by_role("searchbox").fill("")
    page.get_by_role("combobox", name="Verdict").select_option("unknown")
    assert order(page) == ["EVA", "MOONLIGHT"]


@pytest.mark.parametrize(
    ("sent", "shown"),
    [
        ({"status": "allowed", "missing": [{"rule": "gusts", "what": ["wind gust"]}]}, "? unknown"),
        ({"status": "allowed", "failed": [GUST]}, "✗ restricted"),
        ({"status": "Allowed"}, "? unknown"),
        ({"status": None, "failed": None, "missing": None}, "? unknown"),
        ({"status": "constructor"}, "? unknown"),
        ({"status": "unknown"}, "? unknown"),
    ],
    ids=str,
)
def test_allowed_is_never_shown_for_what_is_unknown(opened, office, sent, shown):
    from playwright.sync_api import expect

    page = opened()
    office.send("ship", ship(1, "ORCA", **{"status": "unknown", **sent}))
    expect(row(page, "ORCA").locator("td").first).to_have_text(shown.replace(" ", " was "), use_inner_text=False)
    assert texts(page, "ORCA")[0] == shown
    page.get_by_role("button", name="ORCA").first.click()
    expect(page.locator("#ship .verdict .tag")).to_contain_text(shown.split()[1])


def test_when_the_stream_stops_the_page_turns_grey_and_says_so_and_comes_back_without_losing_a_change(opened, office):
    from playwright.sync_api import expect

    page = opened()
    number = office.send("clock", {"now": iso(NOW)})
    page.wait_for_function(SHOWN, arg=number)
    office.running = False
    expect(page.locator("#stopped")).to_contain_text(
        "What you see is as it was at 14:05:00 UTC, and may be wrong by now."
    )
    assert page.locator("#mode").inner_text() == "stopped"
    assert page.locator("main").evaluate("one => getComputedStyle(one).filter") == "grayscale(1)"
    assert texts(page, "ORCA")[0] == "✓ was allowed"
    office.send("ship", ship(1, "ORCA", "restricted", failed=[GUST]))
    last = office.send("ship", ship(6, "NEWCOMER"))
    office.running = True
    page.wait_for_function(SHOWN, arg=last)
    expect(page.locator("#stopped")).to_be_hidden()
    assert office.resumed[-1] == f"made-{number}"
    assert (texts(page, "ORCA")[0], texts(page, "NEWCOMER")[0]) == ("✗ restricted", "✓ allowed")
    assert page.locator("main").evaluate("one => getComputedStyle(one).filter") == "none"
    assert page.locator("#said").inner_text() == "News come again."


def test_while_the_board_answers_but_nothing_is_judged_it_is_grey_too(opened, office):
    from playwright.sync_api import expect

    page = opened()
    office.send("clock", {"live": False, "quiet_s": 20.4})
    expect(page.locator("#stopped")).to_contain_text(
        "Nothing has been judged for 20 s. What you see is as it was at 14:05:00 UTC"
    )
    assert texts(page, "ORCA")[0] == "✓ was allowed"
    office.send("clock", {"lost": "the server closed the connection"})
    expect(page.locator("#stopped")).to_contain_text("The store cannot be read: the server closed the connection.")
    office.send("clock", {"live": True, "lost": None, "quiet_s": 0.1, "now": at("14:06")})
    expect(page.locator("#stopped")).to_be_hidden()
    assert texts(page, "ORCA")[0] == "✓ allowed"
    office.send("clock", {"live": False, "now": at("23:59")})
    expect(page.locator("#stopped")).to_contain_text("The day is over.")


def test_a_stream_that_is_open_but_silent_counts_as_stopped(browser, office):
    from playwright.sync_api import expect

    with served(office.application(), SECRET) as address:
        page = browser.new_page()
        page.clock.install()
        page.goto(address)
        expect(page.locator("#mode")).to_have_text("live")
        page.clock.fast_forward(9_000)
        expect(page.locator("#mode")).to_have_text("live")
        office.running, office.silent = True, True
        page.clock.fast_forward(11_000)
        expect(page.locator("#stopped")).to_contain_text("The board is silent; the page tries again by itself.")
        page.clock.fast_forward(1_000)
        expect(page.locator("#mode")).to_have_text("live")
        page.close()
        office.running = False


def test_the_clock_is_set_back_and_it_is_clear_that_one_looks_at_the_past(opened, office):
    from playwright.sync_api import expect

    before = [ship(1, "ORCA", "restricted", failed=[GUST]), *ships()[1:]]
    office.past = board(ships=before)
    page = opened()
    page.get_by_role("button", name="ORCA").first.click()
    with page.expect_request(lambda asked: asked.url.endswith("/api/ship") and "11:45" in (asked.post_data or "")):
        page.get_by_label("Moment (UTC)").fill("2020-06-30T11:45:00")
    expect(page.locator("#past")).to_have_text("You look at 11:45, 2 h 20 min before now. It does not move.")
    expect(page.locator("#mode")).to_have_text("in the past")
    expect(row(page, "ORCA").locator(".tag")).to_contain_text("restricted")
    expect(page.locator("#ship")).to_contain_text("gusts must be at most 45 kn")
    assert ("board", {"at": at("11:45")}) in office.asked
    assert page.locator("main").evaluate("one => getComputedStyle(one).outlineStyle") == "dashed"

    # What comes meanwhile is kept, and not shown as if it had been so then.
    number = office.send("ship", ship(6, "NEWCOMER"))
    page.wait_for_function(SHOWN, arg=number)
    assert row(page, "NEWCOMER").count() == 0

    # By keyboard: the slider goes a minute on, and no further back than the day begins.
    slider = page.get_by_label("Set the clock back (UTC)")
    slider.press("ArrowRight")
    expect(page.locator("#now")).to_have_text("30 June 2020, 11:46:00 UTC")
    slider.press("Home")
    expect(page.locator("#now")).to_have_text("30 June 2020, 00:00:00 UTC")
    page.get_by_role("button", name="Now", exact=True).click()
    expect(page.locator("#past")).to_be_hidden()
    expect(row(page, "ORCA").locator(".tag")).to_contain_text("allowed")
    expect(row(page, "NEWCOMER")).to_have_count(1)
    expect(page.get_by_role("button", name="Now", exact=True)).to_be_disabled()


def test_of_a_chosen_ship_all_is_said_in_words_and_the_focus_goes_there_and_back(opened, office):
    from playwright.sync_api import expect

    page = opened()
    name = page.get_by_role("button", name="GUNVOR MAERSK").first
    name.press("Enter")
    expect(page.get_by_role("heading", name="GUNVOR MAERSK")).to_be_focused()
    panel = page.locator("#ship")
    expect(panel.locator("figcaption")).to_have_text(
        "Clearance of GUNVOR MAERSK in metres: least 0.3 m at 05:48. Her limit is 0.5 m. "
        "3 windows: 00:00 to 04:48, 07:12 to 16:48, 19:12 to 23:54."
    )
    expect(panel.locator(".foreseen")).to_have_text("Foreseen: allowed from 16:12: the tide rises to 0.52 m")
    expect(panel).to_contain_text("restricted since 13:18", use_inner_text=True)
    assert [" ".join(each.split()) for each in panel.locator(".reasons tbody tr").all_inner_texts()] == [
        f"under-keel clearance {CLEARANCE['because']} 0.31 m 0.5 m -0.19 m",
        f"gusts {GUST['because']} 51 kn 45 kn -6 kn",
    ]
    assert [" ".join(each.split()) for each in panel.locator("ol li").all_inner_texts()] == [
        "13:18 ✗ restricted: under-keel clearance rules 3f2a9c01be77",
        "01:54 ✓ allowed rules 08d1a2b3c4d5",
    ]
    expect(panel).to_contain_text("Lies atelizabeth-east")
    expect(panel).to_contain_text("wind EWR: 12:51, 27 min before")
    assert panel.locator("rect.window").count() == 3
    assert row(page, "GUNVOR MAERSK").get_attribute("aria-current") == "true"
    page.keyboard.press("Escape")
    expect(page.locator("#ship-panel")).to_be_hidden()
    expect(row(page, "GUNVOR MAERSK").get_by_role("button")).to_be_focused()

    # Of who has no clearance nothing is drawn; of who is unknown it is said what is not known.
    office.story = office.story | {"day": None, "changes": []}
    page.get_by_role("button", name="EVA").first.click()
    expect(panel).to_contain_text("under-keel clearance: draught, water level")
    expect(panel).to_contain_text("she is at no berth and bound for none")
    expect(panel).to_contain_text("No change is foreseen.")

    # Where nothing can be foreseen that is said, and not that nothing changes, or that there is no window.
    office.board = board(ships=[ship(1, "ORCA", foreseen="the rules ask about other ships")])
    office.story = office.story | {"day": day() | {"windows": None, "limit": None}}
    page = opened()
    page.get_by_role("button", name="ORCA").first.click()
    panel = page.locator("#ship")
    expect(panel).to_contain_text("Not foreseen under these rules: the rules ask about other ships.")
    expect(panel.locator("figcaption")).to_have_text(
        "Clearance of ORCA in metres: least 0.3 m at 05:48. Windows are not foreseen under these rules."
    )


PIXEL = """(mmsi) => {
  const at = placed(board.ships.get(mmsi)), ratio = devicePixelRatio;
  const [r, g, b] = by("map").getContext("2d").getImageData(at.x * ratio, (at.y + 3) * ratio, 1, 1).data;
  return r > g + 60 ? "red" : g > r + 40 ? "green" : "other";
}"""


@pytest.mark.parametrize("chosen", [1, 2])
def test_names_on_the_map_lie_over_no_other_and_the_chosen_ship_s_stands(opened, office, chosen):
    there = [(1, -74.05), (2, -74.05), (3, -74.0)]
    office.board = board(
        ships=[ship(number, f"SHIP {number}", "restricted", failed=[GUST], lon=lon, lat=40.6) for number, lon in there]
    )
    page = opened()
    names = """(chosen) => {
      const names = [];
      board.chosen = chosen;
      CanvasRenderingContext2D.prototype.fillText = (text) => names.push(text);
      redraw();
      drawMap();
      return names.sort();
    }"""
    assert page.evaluate(names, chosen) == [f"SHIP {chosen}", "SHIP 3"]
    gone = """([chosen, other]) => {
      const names = [];
      CanvasRenderingContext2D.prototype.fillText = (text) => names.push(text);
      if (chosen === board.chosen) board.chosen = null;
      take("gone", { mmsi: chosen }, "made-9");
      drawMap();
      return [...names].includes(`SHIP ${other}`);
    }"""
    assert page.evaluate(gone, [chosen, 3 - chosen]), "the name that was covered comes with what it was covered by gone"


def test_the_map_has_a_mark_for_each_verdict_and_a_ship_is_chosen_on_it_by_mouse_and_by_keyboard(opened):
    from playwright.sync_api import expect

    page = opened()
    canvas = page.locator("#map")
    expect(page.locator("#map-said")).to_have_text("4 ships of 5 in what the map shows.")
    assert (page.evaluate(PIXEL, 2), page.evaluate(PIXEL, 1), page.evaluate(PIXEL, 3)) == ("red", "green", "other")
    expect(page.locator("#scale")).to_have_text("1 nautical mile")
    place = page.evaluate("placed(board.ships.get(3))")
    canvas.click(position=place)
    expect(page.locator("#ship-heading")).to_have_text("EVA")
    page.get_by_role("button", name="Zoom in").click(click_count=2)
    expect(page.locator("#scale")).to_have_text("0.5 nautical miles")

    canvas.focus()
    before = page.evaluate("[chart.lon, chart.lat, chart.scale]")
    canvas.press("ArrowRight")
    canvas.press("ArrowUp")
    lon, lat, scale = page.evaluate("[chart.lon, chart.lat, chart.scale]")
    assert (lon > before[0], lat > before[1], scale == before[2]) == (True, True, True)
    canvas.press("+")
    assert page.evaluate("chart.scale") > scale
    canvas.press("-")
    canvas.press("Home")
    expect(page.locator("#scale")).to_have_text("1 nautical mile")
    for name in ("GUNVOR MAERSK", "STENA PARIS", "EVA", "ORCA", "GUNVOR MAERSK"):
        if name == "GUNVOR MAERSK":
            page.evaluate("closeShip()")
            canvas.focus()
        canvas.press("n")
        expect(page.locator("#ship-heading")).to_have_text(name)
        expect(page.locator("#said")).to_contain_text(name)
    canvas.press("Enter")
    expect(page.locator("#ship-heading")).to_be_focused()

    # Dragged, it goes along.
    box = canvas.bounding_box()
    before = page.evaluate("chart.lon")
    page.mouse.move(box["x"] + 200, box["y"] + 200)
    page.mouse.down()
    page.mouse.move(box["x"] + 120, box["y"] + 200, steps=3)
    page.mouse.up()
    assert page.evaluate("chart.lon") > before


def test_rules_berths_readings_and_who_changed_the_rules_follow_the_ships(opened, office):
    from playwright.sync_api import expect

    def lines(name: str) -> list[str]:
        return [" ".join(each.split()) for each in page.locator(f"#{name} > *").all_inner_texts()]

    page = opened()
    assert lines("rules") == [
        "under-keel clearance clearance must be at least 0.5 m GUNVOR MAERSK EVA",
        "gusts wind gust must be at most 45 kn GUNVOR MAERSK none",
    ]
    assert lines("berths") == [
        "elizabeth-north 15.24 m ORCA none",
        "elizabeth-east 15.24 m GUNVOR MAERSK none",
        "newark-south 15.24 m none STENA PARIS",
    ]
    assert lines("sources") == [
        "vessel AIS reports 14:04 1 min ago",
        "wind wind at the airports 11:51 2 h 14 min ago too old",
    ]
    expect(page.locator("#silent")).to_have_text(
        "Nothing new of: wind. What rests on it is as of the last report; its age is beside it."
    )
    assert lines("packs") == [
        "3f2a9c01be77 in force from 09:30, by A. Officer written 30 June 2020, 09:28 changed: gusts",
        "08d1a2b3c4d5 in force from 00:00, by B. Officer written 29 June 2020, 16:00 added: gusts, under-keel clearance",
    ]
    office.send("ship", ship(4, "STENA PARIS", "restricted", failed=[GUST], berth="newark-south"))
    office.send("source", {"source": "wind", "what": "wind", "last": at("14:04"), "age_s": 60, "stale": False})
    expect(page.locator("#rules")).to_contain_text("STENA PARIS")
    expect(page.locator("#silent")).to_be_hidden()
    assert lines("berths")[2] == "newark-south 15.24 m STENA PARIS none"
    expect(page.locator("#refused")).to_be_hidden()
    change = {"version": "ffffffffffff", "at": at("14:05"), "changed": at("14:05"), "who": "C. Officer",
              "rules_added": [], "rules_removed": [], "rules_changed": ["gusts"], "declarations": ["+ define calm: true"],
              "sentences": [["gusts", "wind gust must be at most 45 kn", "wind gust must be at most 40 kn"]]}  # fmt: skip
    why = "line 3 <b>wrong</b>\n    ^"
    pack = {"version": "ffffffffffff", "since": at("14:05"), "who": "C. Officer", "changes": [change],
            "refused": {"why": why, "who": "D. Officer"}}  # fmt: skip
    office.board = office.board | {"rules": [{"name": "no rule", "text": "nothing", "ships": []}], "pack": pack}
    office.send("pack", pack)
    expect(page.locator("#rules")).to_contain_text("no rule")
    expect(page.locator("#refused-by")).to_contain_text("The rules that D. Officer wants are not in force")
    assert page.locator("#refused-why").text_content() == why
    page.get_by_text("What it says").click()
    expect(page.locator("#packs pre")).to_have_text(
        "− wind gust must be at most 45 kn\n+ wind gust must be at most 40 kn\n+ define calm: true"
    )
    office.board = office.board | {"pack": {**pack, "refused": None}}
    office.send("pack", office.board["pack"])
    expect(page.locator("#refused")).to_be_hidden()


HOSTILE = "</td><img src=x onerror=boom()><script>boom()</script>"
NAMES = [
    HOSTILE,
    "\u202egnoW\u202c\u0000\u0007\n\r\u2028 name",
    "W" * 5_000,
    "Z" + "\u0301\u0489" * 300 + "ALGO",
    "javascript:boom()",
    "{{boom()}} ${boom()} ' \" ` &lt;",
    "__proto__",
    "سفينة",
    "\u200b\u200e",
]


@pytest.mark.parametrize("width", [1300, 390])
def test_what_ships_say_of_themselves_is_text_and_nothing_of_it_runs_or_moves_the_page(opened, office, width):
    from playwright.sync_api import expect

    reason = {name: HOSTILE for name in ("rule", "because", "value", "limit", "margin")}
    made = [
        ship(10 + number, name, "restricted", heads_for=name, berth=name, failed=[reason], missing=[{"rule": name, "what": [name]}],
             next={"at": at("16:00"), "status": HOSTILE, "rule": name, "why": name})
        for number, name in enumerate(NAMES)
    ]  # fmt: skip
    office.board = board(
        ships=made,
        rules=[{"name": name, "text": name, "ships": []} for name in NAMES],
        berths=[{"id": name, "lon": 0, "lat": None, "depth": HOSTILE, "lies": [], "comes": []} for name in NAMES],
        sources=[{"source": name, "what": name, "last": HOSTILE, "age_s": None, "stale": True} for name in NAMES],
        pack={"version": HOSTILE, "since": HOSTILE, "who": HOSTILE, "refused": {"why": HOSTILE, "who": HOSTILE}, "changes": [
            {"version": name, "at": name, "changed": name, "who": name, "rules_added": [name]} for name in NAMES]},
    )  # fmt: skip
    change = {"time": HOSTILE, "status": HOSTILE, "failed": [reason], "missing": [], "pack": HOSTILE}
    office.story = office.story | {"changes": [change]}
    page = opened(viewport={"width": width, "height": 900})
    for place in range(len(NAMES)):
        page.locator("#rows th button").nth(place).click()
        expect(page.locator("#ship")).to_contain_text("Verdicts so far")
    page.evaluate("showPanels()")
    assert page.locator("img, iframe, object, main script, main style, [onerror], a[href^='javascript']").count() == 0
    shown = page.locator("body").evaluate("one => one.textContent")
    assert "<img src=x onerror=boom()>" in shown  # it is seen, as text
    assert [sign for sign in "\u202e\u0000\u0007\u2028\u200b" if sign in shown] == []
    wide = "[...document.body.querySelectorAll('*')].filter(one => one.getBoundingClientRect().right > innerWidth + 1 && !one.closest('.wide')).map(one => one.outerHTML.slice(0, 80))"
    assert (page.evaluate("document.documentElement.scrollWidth <= innerWidth"), page.evaluate(wide)) == (True, [])
    heights = page.locator("#rows tr").evaluate_all("rows => rows.map((row) => row.getBoundingClientRect().height)")
    assert max(heights) < 600
    assert page.locator("#rows th").last.bounding_box()["width"] < width
    assert {"MMSI 18", "\ufffd\ufffd"} & {*order(page)}


def test_an_inline_script_does_not_run_even_if_it_got_in(opened):
    page = opened()
    page.evaluate(
        "document.body.insertAdjacentHTML('beforeend', '<img id=planted src=x onerror=boom() style=\"color:red\">')"
    )
    page.wait_for_function("() => violations.length >= 3")
    assert {*page.evaluate("violations.splice(0)")} == {"img-src", "script-src-attr", "style-src-attr"}


def test_the_page_is_sound_for_keyboard_and_screen_reader_wide_and_narrow_light_and_dark(opened):
    from playwright.sync_api import expect

    page = opened()
    page.keyboard.press("Tab")
    expect(page.locator(".skip")).to_be_focused()
    page.keyboard.press("Enter")
    expect(page.locator("#ships")).to_be_focused()
    page.keyboard.press("Tab")
    expect(page.get_by_role("searchbox")).to_be_focused()
    page.get_by_role("button", name="GUNVOR MAERSK").first.click()
    expect(page.locator("figcaption")).to_be_visible()
    for width, scheme in ((1300, "light"), (390, "light"), (390, "dark"), (1300, "dark")):
        page.set_viewport_size({"width": width, "height": 900})
        page.emulate_media(color_scheme=scheme)
        assert page.evaluate(CHECKS) == [], (width, scheme)
    tree = page.context.new_cdp_session(page).send("Accessibility.getFullAXTree")["nodes"]
    roles = [each["role"]["value"] for each in tree if not each.get("ignored")]
    assert {"banner", "main", "search", "form", "table", "rowheader", "columnheader", "status"} <= {*roles}
    levels = page.locator("h1, h2, h3").evaluate_all(
        "all => all.filter(one => one.offsetParent).map(one => +one.tagName[1])"
    )
    assert levels[0] == 1
    assert all(after - before <= 1 for before, after in itertools.pairwise(levels))


def test_who_wants_no_motion_has_none(opened, office):
    page = opened(reduced_motion="reduce")
    number = office.send("ship", ship(1, "ORCA", "restricted", failed=[GUST]))
    page.wait_for_function(SHOWN, arg=number)
    assert page.locator("#rows tr.changed").evaluate("one => getComputedStyle(one).animationName") == "none"


def test_many_changes_are_drawn_once_a_frame_and_read_out_in_one_sentence(opened, office):
    office.board = board(ships=[ship(number, f"SHIP {number}") for number in range(2_000)])
    page = opened()
    assert page.locator("#rows tr").count() == 20
    assert page.locator("#shown").inner_text() == "the first 20 of 2,000 ships"
    page.get_by_role("button", name="Show more").click()
    assert page.locator("#rows tr").count() == 40
    counted = """async (events) => {
      const said = [], frames = [];
      new MutationObserver(() => said.push(by("said").textContent)).observe(by("said"), { childList: true });
      const drawing = drawMap;
      drawMap = () => { frames.push(1); drawing(); };
      for (const event of events) take("ship", event, "made-9");
      await new Promise((done) => requestAnimationFrame(() => requestAnimationFrame(done)));
      clearTimeout(news.timer);
      return [frames.length, said.length, news.ships.size];
    }"""
    events = [ship(number, f"SHIP {number}", "restricted", failed=[GUST], since=at("14:05")) for number in range(50)]
    assert page.evaluate(counted, events) == [1, 0, 50]
    assert order(page)[:2] == ["SHIP 0", "SHIP 1"]


def test_a_change_of_one_ship_touches_her_row_alone_among_two_thousand(opened, office):
    office.board = board(ships=[ship(number, f"SHIP {number:04}") for number in range(2_000)])
    page = opened()
    touched = """async (event) => {
      const rows = [...by("rows").children], boxes = [];
      const seen = new MutationObserver(() => {});
      seen.observe(document.body, { childList: true, subtree: true });
      const drawing = drawBox;
      drawBox = (pen, box) => { boxes.push((box.right - box.left) * (box.bottom - box.top)); drawing(pen, box); };
      take("ship", event, "made-9");
      show();
      drawBox = drawing;
      const nodes = seen.takeRecords().filter((one) => one.target === by("rows")).flatMap((one) => [...one.addedNodes, ...one.removedNodes]);
      return [nodes.length, rows.filter((row) => row.isConnected).length, boxes.length, Math.max(...boxes) < 3_000];
    }"""
    later = at("14:05")
    assert page.evaluate(touched, ship(3, "SHIP 0003", seen=later)) == [2, 19, 1, True]  # her row for her row
    assert page.evaluate(touched, ship(1_900, "SHIP 1900", seen=later)) == [0, 20, 1, True]  # she is in no row
    forbidden = ship(1_900, "SHIP 1900", "restricted", failed=[GUST], since=later)
    page.evaluate("chart.few = true")
    assert page.evaluate(touched, forbidden)[:2] == [2, 19]  # she comes on top, the last goes
    assert page.evaluate(touched, ship(1_900, "SHIP 1900", since=at("12:00")))[:2] == [2, 19]  # and back


@pytest.mark.parametrize("width", [1300, 390])
def test_how_many_ships_there_are_is_seen_whole(opened, office, width):
    office.board = board(ships=[ship(number, f"SHIP {number}") for number in range(2_000)])
    page = opened(viewport={"width": width, "height": 800})
    hidden = """(dl) => [...dl.querySelectorAll("dt, dd")].filter((one) => {
      const { left, right, top, bottom } = one.getBoundingClientRect(), whole = dl.getBoundingClientRect();
      return left < whole.left || right > whole.right || top < whole.top || bottom > whole.bottom;
    }).map((one) => one.textContent)"""
    assert page.locator("#counts").evaluate(hidden) == []


def test_panels_out_of_view_are_drawn_in_turn_and_at_once_when_they_are_looked_at(opened, office):
    from playwright.sync_api import expect

    office.board = board(
        ships=[ship(number, f"SHIP {number:04}") for number in range(2_000)],
        rules=[{"name": "gusts", "text": "if gust > 14 m/s forbid", "ships": []}],
    )
    page = opened(viewport={"width": 1300, "height": 500})
    late = """(event) => {
      window.waits = [];
      showPanels();
      setTimeout = (then, wait) => waits.push([then, wait]);  // nothing comes by itself any more
      due.slow = null;
      take("ship", event, "made-9");
      show();
      return waits.filter(([then]) => then === showNextPanels).map(([, wait]) => wait);
    }"""
    turn = "(waits.splice(0).filter(([then]) => then === showNextPanels).forEach(([then]) => then()), waits.length)"
    forbidden = ship(1_900, "SHIP 1900", "restricted", failed=[GUST], since=at("14:05"))
    (wait,) = page.evaluate(late, forbidden)
    assert 1_875 <= wait <= 3_125
    assert "SHIP 1900" not in page.locator("#rules").inner_text()
    turns = [page.evaluate(turn) for _ in range(3)]
    assert "SHIP 1900" in page.locator("#rules").inner_text()
    assert turns == [1, 1, 0]  # one of the three each time, and then there is nothing to wait for
    page.evaluate(late, ship(1_901, "SHIP 1901", "restricted", failed=[GUST], since=at("14:05")))
    page.locator("#rules-heading").scroll_into_view_if_needed()
    expect(page.locator("#rules")).to_contain_text("SHIP 1901")
    (wait,) = page.evaluate(late, ship(1_902, "SHIP 1902", "restricted", failed=[GUST], since=at("14:05")))
    assert 750 <= wait <= 1_250


@pytest.mark.parametrize("seed", range(3))
def test_ships_that_change_one_by_one_stand_and_are_drawn_as_if_all_were_drawn_anew(opened, office, seed):
    """The list, the counts and the map after many changes are those of a page that draws everything at once."""
    made = random.Random(seed)
    verdicts: dict[str, dict[str, Any]] = {
        "allowed": {},
        "restricted": {"failed": [GUST]},
        "unknown": {"missing": [{"rule": "gusts", "what": ["gust"]}]},
    }

    def changed(number: int) -> tuple[str, dict[str, Any]]:
        if made.random() < 0.1:
            return "gone", {"mmsi": number}
        status = made.choice([*verdicts])
        where = {"lon": -74.2 + made.random() / 5, "lat": 40.6 + made.random() / 5, "speed": made.random() * 9}
        return "ship", ship(
            number, f"SHIP {number % 7}", status, since=at(f"{made.randrange(14)}:00"), **where, **verdicts[status]
        )

    page = opened()
    said = """(anew) => {
      if (anew) showAll();
      show();
      const pixels = by("map").getContext("2d").getImageData(0, 0, by("map").width, by("map").height).data;
      const others = anew ? pixels.filter((one, place) => Math.abs(one - before[place]) > 16).length : 0;
      window.before = pixels;
      return [by("rows").textContent, by("counts").textContent, by("shown").textContent, by("map-said").textContent, others < 60]; // the edge of a mark may be rounded otherwise; a mark has some hundred pixels
    }"""
    for _ in range(20):
        for kind, data in [changed(made.randrange(60)) for _ in range(5)]:
            page.evaluate("([kind, data]) => take(kind, data, 'made-9')", [kind, data])
        step_by_step = page.evaluate(said, False)
        assert step_by_step == page.evaluate(said, True)


def test_rows_that_move_keep_the_focus(opened, office):
    from playwright.sync_api import expect

    page = opened()
    page.get_by_role("button", name="ORCA").first.focus()
    number = office.send("ship", ship(1, "ORCA", "restricted", failed=[GUST], since=at("14:05")))
    page.wait_for_function(SHOWN, arg=number)
    assert order(page)[0] == "ORCA"
    expect(page.get_by_role("button", name="ORCA").first).to_be_focused()


# ------------------------------------------------------------------------------------------------------------ who may ask

ASKED = """async ([url, secret]) => {
  const tried = {
    read: () => fetch(url + "api/board", { method: "POST", headers: { "X-Token": secret }, body: "{}" }),
    simple: () => fetch(url + "api/board", { method: "POST", body: "{}", headers: { "Content-Type": "text/plain" } }),
    page: () => fetch(url),
    stream: () => fetch(url + "live", { headers: { "X-Token": secret } }),
    script: () => new Promise((done, failed) => document.head.append(Object.assign(document.createElement("script"), { src: url + "common.js", onload: done, onerror: failed }))),
  };
  const got = [];
  for (const [name, attempt] of Object.entries(tried)) await attempt().then(() => got.push(name), () => {});
  await fetch(url + "api/board", { method: "POST", body: "{}", mode: "no-cors" }).catch(() => {});  // this one is sent, and refused there
  return got;
}"""


def test_another_site_reads_nothing_and_changes_nothing_even_if_it_knew_the_token(browser, office):
    with served(office.application(), SECRET) as address:
        page = browser.new_page()
        page.route(
            "http://elsewhere.example/**",
            lambda route: route.fulfill(body="<title>elsewhere</title>", content_type="text/html"),
        )
        page.goto("http://elsewhere.example/")
        assert page.evaluate(ASKED, [address.partition("#")[0], SECRET]) == []
        assert office.asked == []
        page.evaluate(
            "url => document.body.append(Object.assign(document.createElement('iframe'), {src: url}))", address
        )
        page.wait_for_function("() => frames.length === 1")
        page.frames[1].wait_for_load_state()
        assert page.frames[1].locator("#ships").count() == 0  # it lets no other site frame it
        page.close()
        assert office.asked == []


def test_a_name_that_is_bent_to_this_machine_gets_nothing(browser, office):
    """The browser is told that rebound.example is 127.0.0.1, as a site's own name server would."""
    with served(office.application(), SECRET) as address:
        page = browser.new_page()
        answer = page.goto(address.replace("127.0.0.1", "rebound.example"))
        assert answer is not None
        assert answer.status == 400
        asked = "async (secret) => (await fetch('/api/board', {method: 'POST', headers: {'X-Token': secret}, body: '{}'})).status"
        assert page.evaluate(asked, SECRET) == 400
        assert office.asked == []
        page.close()


def test_without_the_token_the_page_shows_nothing_and_says_what_to_open(browser, office):
    from playwright.sync_api import expect

    with served(office.application(), SECRET) as address:
        page = browser.new_page()
        page.goto(address.replace(f"#{SECRET}", "#guess"))
        expect(page.locator("#problem")).to_have_text("open the address that the board printed when it started")
        assert page.locator("#rows tr").count() == 0
        assert office.asked == []
        page.close()
