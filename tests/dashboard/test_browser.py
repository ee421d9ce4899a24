"""The page as a person uses it, in a real browser."""

import re
import sys
from contextlib import contextmanager, suppress
from itertools import combinations

import pytest
from playwright.sync_api import TimeoutError as NotInTime
from tests.dashboard.browsers import drawn, launched, watched
from tests.dashboard.served import FARM, fed, made, serving
from tests.processes import running

import allweather as aw
from allweather.dashboard.studies import encode_segment

UNNAMED = """() => [...document.querySelectorAll("input:not([type=hidden]), select, button")]
    .filter(f => !f.labels.length && !f.getAttribute("aria-label") && !f.textContent.trim()).map(f => f.outerHTML)"""
TOKEN = "a-token-of-many-characters"
CONTEXT = "input[name='context:demand']"
PHONE = {"width": 390, "height": 844}


@pytest.fixture(scope="module")
def chromium():
    with launched() as browser:
        yield browser


@pytest.fixture
def page(chromium):
    with watched(chromium) as one:
        yield one


@contextmanager
def feeding(url, name="kiosk"):
    """Another process that feeds the study; it has begun."""
    command = [sys.executable, "-m", "tests.dashboard.feeder", url, name]
    with running(command, stderr=None) as process:
        assert process.stdout.readline().strip().isdigit()
        yield process


def trials(page):
    """How many trials the page says there are."""
    return int(page.locator("#summary dd strong").first.inner_text())


def more_trials(page, than):
    page.wait_for_function("n => Number(document.querySelector('#summary dd strong').textContent) > n", arg=than)


def asked_for(page):
    """Ask, and the card of the trial that comes."""
    with page.expect_response("**/ask") as answer:
        page.get_by_role("button", name="Ask for the next trial").click()
    return page.locator("#" + re.search(r'id="(trial-\d+)"', answer.value.text()).group(1))


def test_ask_and_tell_on_a_study_that_another_process_feeds(server, kiosk, page):
    page.goto(server.address)
    page.get_by_role("link", name="kiosk").click()
    page.locator(".computed").wait_for()
    before = drawn(page, "profile")
    with feeding(kiosk):
        more_trials(page, than=12)
        card = asked_for(page)
        card.locator(CONTEXT).fill("31.5")
        more_trials(page, than=trials(page) + 1)
        assert card.locator(CONTEXT).input_value() == "31.5"  # news came in, and what was typed is there
        card.locator("input[name=values]").fill("42.25")
        card.get_by_role("button", name="Report result").click()
        page.locator(".saved", has_text="is complete: outcome 42.25").wait_for()
        page.locator("#figure-profile").scroll_into_view_if_needed()
        page.wait_for_function(
            "old => JSON.stringify(document.querySelector('#figure-profile .plot').data) !== old", arg=before
        )
    with server.client() as client:
        told = client.get("/api/v1/studies/kiosk/trials", params={"limit": 1000}).json()["trials"]
    assert [each["context"] for each in told if each["values"] == [42.25]] == [{"demand": 31.5}]


def test_the_slider_gives_another_recommendation_while_trials_come_in(server, kiosk, page):
    page.goto(f"{server.address}/studies/kiosk")
    decision = page.locator(".advice .decision")
    decision.wait_for()
    first = drawn(page, "robustness")
    with feeding(kiosk):
        slider = page.get_by_role("slider", name="Radius")
        slider.fill("1.6")
        page.get_by_text("shifts by up to 1.6 in total variation").first.wait_for()
        assert page.locator("#radius").input_value() == "1.6"
        assert page.locator("#objective-form").get_by_label("Objective").input_value() == "dro"
        more_trials(page, than=trials(page) + 1)
        assert slider.input_value() == "1.6"
    page.locator("#recommendation:not(.htmx-request)").wait_for()
    with server.client() as client:
        here = "/api/v1/studies/kiosk/recommendation"
        bold = client.get(here).json()["decision"]["order"]
        careful = client.get(here, params={"objective": "dro", "radius": 1.6}).json()["decision"]["order"]
    assert abs(bold - careful) > 1
    page.wait_for_function(
        "said => document.querySelector('.advice .decision strong').textContent === said", arg=f"{careful:.4g}"
    )
    assert drawn(page, "robustness", times=2) != first


def test_the_check_appears_once_there_are_enough_outcomes(url, page):
    fed(url, 3)
    with serving(url) as server, server.client() as client:
        page.goto(f"{server.address}/studies/kiosk")
        figure = page.locator("#figure-check")
        figure.scroll_into_view_if_needed()
        figure.get_by_text("At least 5 outcomes are needed.").wait_for()
        rows = [{"order": 35, "demand": 30, "value": 95}, {"order": 15, "demand": 50, "value": 60}]
        client.post("/api/v1/studies/kiosk/trials", json={"rows": rows})
        drawn(page, "check")
        figure.get_by_text("of 5 outcomes lie in their 90% interval").wait_for()
        assert figure.get_by_text("At least 5 outcomes are needed.").count() == 0
        page.locator("#recommendation", has_text="Possible gain").wait_for()
        page.goto("about:blank")  # or it looks for news while the server ends


BLEND = """
name = "blend"
seed = 1

[variables]
oil = { lower = 0, upper = 10, unit = "kg of the second pressing" }
salt = { lower = 0, upper = 1 }
demand = { lower = 0, upper = 1, context = true }
"""
TEXTS = """() => [...document.querySelectorAll("#figure-policy :is(.annotation-text, [class$=title])")]
    .filter(each => each.tagName === "text").map(each => each.getBoundingClientRect())
    .map(({ left, right, top, bottom }) => [left, right, top, bottom])"""


LABEL = """selector => { const label = document.querySelector(selector), box = label && label.getBoundingClientRect();
    return box && box.width > 0 ? [box.left, box.right] : null; }"""


def hovered(page, name):
    """The left and right end of the label of a figure's first point, once it is shown.

    Figures above it may be drawn meanwhile and move it: then the mouse has to follow.
    """
    for _ in range(60):
        point = page.locator(f"#figure-{name} .points path").first.bounding_box()
        page.mouse.move(point["x"] + 9, point["y"] + 9)
        page.mouse.move(point["x"] + point["width"] / 2, point["y"] + point["height"] / 2)
        with suppress(NotInTime):
            label = f"#figure-{name} .hoverlayer .hovertext"
            return page.wait_for_function(LABEL, arg=label, timeout=500).json_value()
    pytest.fail(f"no label on {name}")


def test_on_a_phone_no_text_of_a_figure_covers_another_or_leaves_the_screen(url, chromium):
    made(url, BLEND)
    rows = [{"oil": 2 * k % 10, "salt": 0.3 * k % 1, "demand": 0.2 * k % 1, "value": -k % 3} for k in range(4)]
    with serving(url) as server, server.client() as client, watched(chromium, viewport=PHONE) as page:
        client.post("/api/v1/studies/blend/trials", json={"rows": rows})
        page.goto(f"{server.address}/studies/blend#figure-policy")
        drawn(page, "policy")
        texts = page.evaluate(TEXTS)
        assert len(texts) == 6  # of two panels: the title, and those of the axes
        for one, other in combinations(texts, 2):
            apart = one[0] >= other[1] or other[0] >= one[1] or one[2] >= other[3] or other[2] >= one[3]
            assert apart, (one, other)
        left, right = hovered(page, "policy")
        assert 0 <= left <= right <= PHONE["width"]
        page.goto("about:blank")  # or it looks for news while the server ends


def test_a_zoom_survives_the_news(server, page):
    page.goto(f"{server.address}/studies/kiosk")
    drawn(page, "profile")
    box = page.locator("#figure-profile .plot .nsewdrag").first.bounding_box()
    page.mouse.move(box["x"] + 0.3 * box["width"], box["y"] + 0.2 * box["height"])
    page.mouse.down()
    page.mouse.move(box["x"] + 0.7 * box["width"], box["y"] + 0.8 * box["height"], steps=5)
    page.mouse.up()
    shown = "() => JSON.stringify(document.querySelector('#figure-profile .plot').layout.xaxis.range)"
    page.wait_for_function("() => !document.querySelector('#figure-profile .plot').layout.xaxis.autorange")
    zoomed = page.evaluate(shown)
    times = int(page.locator("#figure-profile").get_attribute("data-drawn"))
    with server.client() as client:
        client.post("/api/v1/studies/kiosk/trials", json={"rows": [{"order": 35, "demand": 30, "value": 95}]})
    drawn(page, "profile", times + 1)
    assert page.evaluate(shown) == zoomed


def test_a_mistake_is_shown_and_nothing_typed_is_lost(server, chromium):
    with watched(chromium, allowed=["422"]) as page:
        page.goto(f"{server.address}/studies/kiosk")
        card = asked_for(page)
        card.locator(CONTEXT).fill("31.5")
        card.locator("input[name=values]").fill("forty")
        card.get_by_role("button", name="Report result").click()
        card.get_by_text("must be a number such as 3.5, got 'forty'").wait_for()
        assert card.locator(CONTEXT).input_value() == "31.5"
        assert card.locator("input[name=values]").input_value() == "forty"
        card.locator("input[name=values]").fill("40")
        card.get_by_role("button", name="Report result").click()
        page.locator(".saved").wait_for()


def test_told_elsewhere_while_somebody_types(server, page):
    page.goto(f"{server.address}/studies/kiosk")
    card, other = asked_for(page), asked_for(page)
    card.locator(CONTEXT).fill("31.5")
    with server.client() as client:
        for one in (card, other):
            number = one.get_attribute("id").removeprefix("trial-")
            told = {"values": [1.0], "context": {"demand": 3}}
            client.post(f"/api/v1/studies/kiosk/trials/{number}/tell", json=told)
    card.get_by_text("its result was reported elsewhere").wait_for()
    assert card.locator(CONTEXT).input_value() == "31.5"
    other.wait_for(state="detached")


def test_the_table_filters_and_pages_in_place(server, page):
    page.goto(f"{server.address}/studies/kiosk")
    page.locator("#filters").get_by_label("Column").select_option("order")
    page.locator("#filters").get_by_label("from", exact=True).fill("50")
    page.wait_for_function("() => document.querySelectorAll('#trials tbody tr').length < 12")
    cells = page.locator("#trials tbody tr td:nth-child(2)").all_inner_texts()
    assert cells
    assert all(float(each) >= 50 for each in cells)
    page.locator("#trials thead").get_by_role("link", name="order").click()
    page.locator("#trials th[aria-sort=descending]", has_text="order").wait_for()
    cells = [float(each) for each in page.locator("#trials tbody tr td:nth-child(2)").all_inner_texts()]
    assert cells == sorted(cells, reverse=True)
    page.locator("#filters").get_by_label("to", exact=True).fill("80")
    page.wait_for_function("n => document.querySelectorAll('#trials tbody tr').length < n", arg=len(cells))
    assert page.locator("#trials th[aria-sort=descending]").inner_text() == "order ↓"


def test_ask_and_tell_without_a_script(server, chromium):
    with watched(chromium, java_script_enabled=False) as page:
        page.goto(f"{server.address}/studies/kiosk")
        page.get_by_role("button", name="Ask for the next trial").click()
        card = page.locator("#trial-12")
        card.locator(CONTEXT).fill("31.5")
        card.locator("input[name=values]").fill("42")
        card.get_by_role("button", name="Report result").click()
        page.get_by_role("heading", name="Trial 12").wait_for()
        assert "42" in page.locator("dl.facts").inner_text()
        page.get_by_label("Outcome").fill("41")
        page.get_by_role("button", name="Save correction").click()
        assert "41" in page.locator("dl.facts").inner_text()
        page.goto(f"{server.address}/studies/kiosk")
        page.get_by_role("link", name="Show the recommendation").click()
        page.get_by_text("Mean outcome", exact=True).wait_for()


def test_logging_in_with_the_token(kiosk, chromium):
    with serving(kiosk, host="0.0.0.0", token=TOKEN) as server, watched(chromium, allowed=["401"]) as page:
        page.goto(f"{server.address}/studies/kiosk")
        page.get_by_label("Token").fill("something else")
        page.get_by_role("button", name="Log in").click()
        page.get_by_text("Invalid token.").wait_for()
        page.get_by_label("Token").fill(TOKEN)
        page.get_by_role("button", name="Log in").click()
        page.locator(".computed").wait_for()
        drawn(page, "robustness")
        page.get_by_role("button", name="Log out").click()
        page.get_by_role("heading", name="Log in").wait_for()
        page.goto(f"{server.address}/studies/kiosk")
        assert page.url.startswith(f"{server.address}/login")


def test_a_script_in_names_is_text_in_the_browser_too(url, chromium):
    nasty = "<img src=x onerror=alert(1)><script>alert(2)</script>"
    recipe = f"""
[variables]
wood = {{ options = ["{nasty}", "oak"] }}
rain = {{ lower = 0, upper = 1, context = true }}
"""
    study = made(url, recipe, nasty)
    study.add([{"wood": wood, "rain": 0.1 * n, "value": float(n)} for n in range(5) for wood in (nasty, "oak")])
    study.ask()
    with serving(url) as server, watched(chromium) as page:
        page.goto(server.address)
        page.get_by_role("link", name=nasty).click()
        assert page.get_by_role("heading", level=1).inner_text() == nasty
        page.locator(".computed").wait_for()
        for figure in ("robustness", "contexts", "profile", "slices", "progress"):
            drawn(page, figure)
        page.goto(f"{server.address}/studies/{encode_segment(nasty)}/trials/0")
        assert nasty in page.locator("dl.facts").inner_text()
        assert page.locator("img[src=x]").count() == 0


@pytest.mark.parametrize("width", [390, 1280])
def test_every_page_fits_its_screen_and_names_its_fields(url, chromium, width):
    fed(url, 30)
    farm = made(url, FARM)
    for _ in range(3):
        farm.tell(farm.ask(), 1.0, context={"light": 0.5, "wood": "oak"})
    farm.ask()
    paths = ["/", "/studies/kiosk", "/studies/farm", "/studies/kiosk/trials", "/studies/kiosk/trials/3"]
    paths += ["/studies/kiosk/recommendation", "/new", "/studies/kiosk/add", "/login", "/api/docs", "/nothing"]
    screen = {"viewport": {"width": width, "height": 844}}
    with serving(url) as server, watched(chromium, allowed=["404"], **screen) as page:
        for path in paths:
            page.goto(server.address + path)
            if path in ("/studies/kiosk", "/studies/farm"):
                page.locator(".computed").wait_for()
                drawn(page, "control_sets" if "farm" in path else "slices")
            assert page.evaluate("document.documentElement.scrollWidth") <= width, path
            assert page.evaluate(UNNAMED) == [], path
            assert page.locator("h1").count() == 1, path


def test_an_empty_study_and_one_by_a_program(url, page):
    made(url)
    space = aw.Space(order=aw.Real(0, 1), demand=aw.Context(0, 1))
    own = aw.Study(space, storage=url, name="by a program", surrogate=lambda x, y: None)
    own.ask()
    with serving(url) as server:
        page.goto(f"{server.address}/studies/kiosk")
        page.get_by_text("No recommendation yet").wait_for()
        asked_for(page).wait_for()
        page.goto(f"{server.address}/studies/{encode_segment('by a program')}")
        page.get_by_text("was made by a program").wait_for()
        page.locator(CONTEXT).fill("0.5")
        page.locator("#trial-0 input[name=values]").fill("3")
        page.get_by_role("button", name="Report result").click()
        page.locator(".saved").wait_for()
        page.goto("about:blank")  # or it looks for news while the server ends
    assert own.trials()["value"].tolist() == [3.0]


def test_a_red_message_goes_when_something_else_is_typed(server, chromium):
    with watched(chromium, allowed=("422", "htmx:responseError")) as page:
        page.goto(f"{server.address}/studies/kiosk")
        card = asked_for(page)
        card.get_by_role("button", name="Report result").click()
        card.get_by_text("enter an outcome").wait_for()
        card.locator("input[name=values]").fill("3")
        assert card.locator(".error").count() == 0
        page.goto("about:blank")
