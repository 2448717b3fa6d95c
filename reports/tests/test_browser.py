"""The site in a real browser, from files: nothing is fetched from elsewhere, nothing fails, everybody can read it."""

from __future__ import annotations

import shutil
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from zenoh_conformance.verdict import Judgement, Key, Verdict
from zenoh_harness.pytest_needs import CHROMIUM_NAMES
from zenoh_reports.pages import folder as pages
from zenoh_reports.pages.build import build
from zenoh_reports.pages.site import Report
from zenoh_reports.plain import runs
from zenoh_reports.plain.documents import Documents

pytestmark = pytest.mark.needs("browser")

EVIL = "<script>document.title='owned'</script><img src=x onerror=\"document.title='owned'\">\x1b[2J\u202e'\"&"
PHONE, DESK, WALL = 390, 1440, 2560
CAMPAIGN = {
    "campaign": 1, "name": "decode", "target": "codec", "clusters": [{"id": "one", "cause": "x"}],
    "progress": [{"seconds": 0, "coverage": 1, "findings": 0}, {"seconds": 9, "coverage": 5, "findings": 1}],
    "times": [{"name": "grammar", "seconds": [1, 2, None], "within": 9}, {"name": "bytes", "seconds": [3, None, None], "within": 9}],
}  # fmt: skip
AUDIT = {
    "audit": 1, "name": "office", "nodes": [{"id": "0a", "messages": 3}], "rules": [{"requirement": "x/y", "verdict": "pass"}],
    "findings": [{"time": 1, "requirement": "x/y"}, {"time": 2, "requirement": "x/y"}],
}  # fmt: skip


@pytest.fixture(scope="module")
def chromium() -> Iterator[Any]:
    from playwright.sync_api import sync_playwright

    program = next(filter(None, map(shutil.which, CHROMIUM_NAMES)))
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=program, args=["--no-sandbox"])
        yield browser
        browser.close()


class Tab:
    """A page that notes what goes wrong on it, and what it asks for."""

    def __init__(
        self, browser: Any, root: Path, *, width: int = DESK, scheme: str = "light", script: bool = True
    ) -> None:
        self.root = root
        context = browser.new_context(
            viewport={"width": width, "height": 900}, color_scheme=scheme, java_script_enabled=script
        )
        self.page = context.new_page()
        self.faults: list[str] = []
        self.asked: set[str] = set()
        self.page.on("pageerror", lambda fault: self.faults.append(str(fault)))
        self.page.on(
            "console", lambda line: self.faults.append(line.text) if line.type in ("error", "warning") else None
        )
        self.page.on("request", lambda request: self.asked.add(request.url))
        self.page.on("requestfailed", lambda request: self.faults.append(f"failed: {request.url}"))

    def go(self, name: str) -> Any:
        self.page.goto((self.root / name).as_uri())
        return self.page

    def calm(self) -> bool:
        """Whether nothing failed and nothing but the site's own files was asked for."""
        elsewhere = [url for url in self.asked if not url.startswith(self.root.as_uri())]
        assert (self.faults, elsewhere) == ([], [])
        return True


@pytest.fixture(scope="module")
def site(making_runs: Any, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Three versions, a pair, a campaign and an audit; a browser only reads it."""
    folder = tmp_path_factory.mktemp("site")
    make_run = making_runs(folder)
    places = [
        make_run("old", "calls-a-version-invalid", version="1.9.0", known="so it is"),
        make_run("new", "believes-any-cookie", version="1.10.0"),
        make_run("last", version="1.11.0"), make_run("cut", version="2", footer=False, planned=("responder default x/y",)),
        make_run("pair", name="a 1 <- b 2", version="1 <- 2", kind="interop", reach="exec:a <- exec:b"),
    ]  # fmt: skip
    return written(folder, places, Documents(campaign=[CAMPAIGN], audit=[AUDIT]))


def written(below: Path, places: list[Path], documents: Documents | None = None) -> Path:
    read, _ = runs.load(runs.found(places))
    out = below / "a site" / "under ü"
    pages.write(out, build(Report(read, (), documents or Documents())))
    return out


PAGES = (
    "index.html", "matrix.html", "spec/index.html", "spec/close.html", "implementation/node.html", "diff/index.html",
    "diff/node-1.9.0-exec..node-1.10.0-exec.html", "interop.html", "automata.html", "campaigns.html", "audits.html", "about.html",
    "run/node-1.10.0-exec/index.html",
    "run/node-1.10.0-exec/responder-default-establishment-cookie-a-changed-cookie-is-refused.html",
)  # fmt: skip


COLOURS = {"runOnly": ["color-contrast", "link-in-text-block"]}
"""The rules of axe that a colour scheme bears on."""


@pytest.mark.parametrize(("scheme", "rules"), [("light", {}), ("dark", COLOURS)], ids=["light", "dark"])
def test_everybody_can_read_every_page(site, chromium, scheme, rules):
    """All rules in one scheme, those of colours in the other: the pages are the same."""
    from axe_playwright_python.sync_playwright import Axe

    tab = Tab(chromium, site, scheme=scheme)
    for name in PAGES:
        # preload would fetch the style sheet again, which the policy forbids
        found = Axe().run(tab.go(name), options={"preload": False, **rules})
        told = [(one["id"], [node["html"][:200] for node in one["nodes"][:2]]) for one in found.response["violations"]]
        assert told == [], name
    assert tab.calm()


@pytest.mark.parametrize("width", [PHONE, DESK, WALL])
def test_no_page_is_wider_than_the_screen(site, chromium, width):
    tab = Tab(chromium, site, width=width)
    for name in PAGES:
        assert tab.go(name).evaluate("document.documentElement.scrollWidth") <= width, name
    assert tab.calm()


def test_the_matrix_filters_sorts_and_remembers(site, chromium):
    tab = Tab(chromium, site)
    page = tab.go("matrix.html")
    shown = page.locator("#matrix tr[data-row]:visible")
    every = shown.count()
    page.get_by_label("Search").fill("cookie-must-match")
    assert shown.count() == 1
    page.get_by_label("Search").fill("")
    page.get_by_label("Verdict somewhere").select_option("fail")
    assert 0 < shown.count() < every
    assert all("fail" in row for row in shown.all_inner_texts())
    page.get_by_label("Targets").select_option("no")
    assert shown.count() == 0
    assert page.locator("#matrix tr.group:visible").count() == 0
    assert tab.calm()


def test_the_heads_of_the_matrix_stay_in_sight(site, chromium):
    tab = Tab(chromium, site, width=PHONE)
    page = tab.go("matrix.html")
    box = page.locator(".matrix")
    box.evaluate("box => { box.scrollTop = 900; box.scrollLeft = 300; }")
    outer, corner = box.bounding_box(), page.locator("#matrix thead th").first.bounding_box()
    assert abs(corner["x"] - outer["x"]) < 3
    assert abs(corner["y"] - outer["y"]) < 3


def test_a_table_sorts_by_its_heads(site, chromium):
    tab = Tab(chromium, site)
    page = tab.go("index.html")
    head = page.locator("th", has_text="Exit").locator("button").first
    head.click()
    exits = [text.strip() for text in page.locator("table").first.locator("tbody td:nth-child(3)").all_inner_texts()]
    assert exits == sorted(exits)
    assert page.locator("th", has_text="Exit").first.get_attribute("aria-sort") == "ascending"
    assert tab.calm()


def test_from_the_front_to_the_bytes_in_two_clicks(site, chromium):
    tab = Tab(chromium, site)
    page = tab.go("index.html")
    page.get_by_role("link", name="session-establishment/cookie-must-match").first.click()
    assert page.locator("svg.drawing").count() == 1
    assert page.get_by_text("first difference").count() == 1
    assert page.locator(".guilty").count() == 1
    page.get_by_role("button", name="Unfold all").click()
    assert page.locator("#wirelog details:not([open])").count() == 0
    assert tab.calm()


def test_without_javascript_all_of_it_is_there(site, chromium):
    tab = Tab(chromium, site, script=False)
    page = tab.go("matrix.html")
    assert page.locator("#matrix tr[data-row]").count() > 600
    assert page.locator(".tools:visible").count() == 0
    page = tab.go(PAGES[-1])
    assert page.get_by_text("first difference").count() == 1
    assert page.locator("button:visible").count() == 0


def test_it_prints(site, chromium):
    tab = Tab(chromium, site)
    page = tab.go("matrix.html")
    page.emulate_media(media="print")
    assert page.locator(".tools:visible").count() == 0
    assert page.locator(".matrix").evaluate("box => getComputedStyle(box).overflowY") == "visible"
    assert page.locator("body").evaluate("body => getComputedStyle(body).backgroundColor") == "rgb(255, 255, 255)"
    assert page.pdf()[:5] == b"%PDF-"


def test_the_keyboard_reaches_the_content(site, chromium):
    page = Tab(chromium, site).go("index.html")
    page.keyboard.press("Tab")
    assert page.evaluate("document.activeElement.textContent") == "To the content"
    page.keyboard.press("Enter")
    assert page.evaluate("location.hash") == "#main"


def test_what_a_target_says_does_nothing(make_run, tmp_path, chromium):
    key = Key(
        target=EVIL,
        version=EVIL,
        role="responder",
        profile=EVIL,
        link=EVIL,
        requirement=EVIL,
        check=EVIL,
        parameters=((EVIL, EVIL),),
    )
    known = {"known": {"reason": EVIL, "see": "javascript:document.title='owned'", "expected": "fail"}}
    more = [
        Judgement(key=key, level="MUST", verdict=Verdict.FAIL, cause=EVIL, end=EVIL, repeat=EVIL, details={EVIL: EVIL}),
        Judgement(key=key, level="MUST", verdict=Verdict.KNOWN, cause="c" * 1_000_000, details=known),
    ]
    place = make_run("evil", name=EVIL, version=EVIL, kind=EVIL, reach=EVIL, more=more, footer=False)
    steps = [{"from": 0, "said": EVIL, "output": EVIL, "to": 0}]
    learned = {"targets": [{"target": EVIL, "states": 1, "words": 1, "steps": steps}]}
    named = {"name": EVIL, "target": EVIL}
    documents = Documents(learned=[learned], campaign=[CAMPAIGN | named], audit=[AUDIT | named])
    out = written(tmp_path, [place], documents)
    for width in (PHONE, DESK):
        tab = Tab(chromium, out, width=width)
        for file in sorted(file for file in out.rglob("*.html") if file.parent.name != "spec"):
            page = tab.go(file.relative_to(out).as_posix())
            assert page.title() != "owned"
            assert page.locator("script").count() == 1
            assert page.locator("img").count() == 0
            assert page.evaluate("document.documentElement.scrollWidth") <= width, file.name
        assert tab.calm()
