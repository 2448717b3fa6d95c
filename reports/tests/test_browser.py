"""The site in a real browser, from files: nothing is fetched from elsewhere, nothing fails, everybody can read it."""

from __future__ import annotations

import shutil
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).parent))
import hostile
import pytest
from sites import dated

from zenoh_harness.pytest_needs import CHROMIUM_NAMES
from zenoh_reports.pages import folder as pages
from zenoh_reports.pages.build import build
from zenoh_reports.pages.site import Report
from zenoh_reports.plain import runs
from zenoh_reports.plain.documents import Documents

pytestmark = pytest.mark.needs("browser")

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
def browser() -> Iterator[Any]:
    from playwright.sync_api import sync_playwright

    program = next(filter(None, map(shutil.which, CHROMIUM_NAMES)))
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=program, args=["--no-sandbox"])
        yield browser
        browser.close()


@pytest.fixture
def chromium(browser: Any) -> Iterator[Any]:
    """The one browser; the tabs that a test opens end with it."""
    yield browser
    for context in browser.contexts:
        context.close()


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

    def fits(self, *widths: int) -> bool:
        """Whether the page that is shown is no wider than the screen, for screens of these widths."""
        for width in widths:
            self.page.set_viewport_size({"width": width, "height": 900})
            assert self.page.evaluate("document.documentElement.scrollWidth") <= width, (self.page.url, width)
        return True

    def calm(self) -> bool:
        """Whether nothing failed and nothing but the site's own files was asked for."""
        elsewhere = [url for url in self.asked if not url.startswith(self.root.as_uri())]
        assert (self.faults, elsewhere) == ([], [])
        return True


@pytest.fixture(scope="module")
def site(making_runs: Any, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Three versions, a pair, two campaigns and two audits; a browser only reads it."""
    folder = tmp_path_factory.mktemp("site")
    make_run = making_runs(folder)
    places = [
        dated(make_run("old", "calls-a-version-invalid", version="1.9.0", known="so it is"), "2026-01-01T00:00:00Z"),
        dated(make_run("new", "believes-any-cookie", version="1.10.0"), "2026-02-01T00:00:00Z"),
        make_run("last", version="1.11.0"), make_run("cut", version="2", footer=False, planned=("responder default x/y",)),
        make_run("pair", name="a 1 <- b 2", version="1 <- 2", kind="interop", reach="exec:a <- exec:b"),
    ]  # fmt: skip
    several = Documents(campaign=[CAMPAIGN, {**CAMPAIGN, "name": "laws"}], audit=[AUDIT, {**AUDIT, "name": "plant"}])
    return written(folder, places, several)


def written(below: Path, places: list[Path], documents: Documents | None = None) -> Path:
    read, _ = runs.load(runs.found(places))
    out = below / "a site" / "under ü"
    pages.write(out, build(Report(read, (), documents or Documents())))
    return out


PAGES = (
    "index.html", "matrix.html", "trends.html", "spec/index.html", "spec/close.html", "implementation/node.html", "diff/index.html",
    "diff/node-1.9.0-exec..node-1.10.0-exec.html", "interop.html", "automata.html", "campaigns.html", "audits.html", "about.html",
    "run/node-1.10.0-exec/index.html",
    "run/node-1.10.0-exec/responder-default-establishment-cookie-a-changed-cookie-is-refused.html",
)  # fmt: skip


COLOURS = {"runOnly": ["color-contrast", "link-in-text-block"]}
"""The rules of axe that a colour scheme bears on."""


KINDS = """() => {
    const many = new Map();
    for (const row of document.querySelectorAll("tbody tr, li")) {
        const kind = row.outerHTML.replace(/>[^<]+</g, ">x<").replace(/ (?!class)([\\w-]+)="[^"]+"/g, " $1=x");
        many.set(kind, 1 + (many.get(kind) || 0));
        if (many.get(kind) > 2) row.remove();
    }
    return document.querySelectorAll("tbody tr, li").length;
}"""
"""Leave two of the rows and list entries that differ in nothing but texts and values: axe takes half a minute for all of them."""


def faults_of(page: Any, rules: dict[str, Any]) -> list[tuple[str, list[str]]]:
    """What axe finds on a page, with the first elements."""
    from axe_playwright_python.sync_playwright import Axe

    # preload would fetch the style sheet again, which the policy forbids
    found = Axe().run(page, options={"preload": False, **rules}).response["violations"]
    return [(one["id"], [node["html"][:200] for node in one["nodes"][:2]]) for one in found]


SCHEMES = pytest.mark.parametrize(("scheme", "rules"), [("light", {}), ("dark", COLOURS)], ids=["light", "dark"])
"""All rules in one scheme, those of colours in the other: the pages are the same."""


@SCHEMES
def test_everybody_can_read_every_page(site, chromium, scheme, rules):
    """Two rows of each kind."""
    tab = Tab(chromium, site, scheme=scheme)
    for name in PAGES:
        page = tab.go(name)
        assert page.evaluate(KINDS) < 400, name
        assert faults_of(page, rules) == [], name
    assert tab.calm()


@pytest.mark.soak
@SCHEMES
def test_everybody_can_read_every_row_of_every_page(site, chromium, scheme, rules):
    tab = Tab(chromium, site, scheme=scheme)
    assert {name: found for name in PAGES if (found := faults_of(tab.go(name), rules))} == {}
    assert tab.calm()


def test_of_rows_that_are_alike_two_are_left_and_a_fault_in_one_is_found(tmp_path, chromium):
    row = "<tr><td>{0}</td><td class='pass'><a href='{0}'>{0}</a></td></tr>"
    rows = [row.format(number) for number in range(9)] + [row.format(9).replace(">9</a>", "></a>")]
    (tmp_path / "x.html").write_text(
        f"<html lang=en><title>x</title><main><h1>x</h1><table><tbody>{''.join(rows)}</tbody></table></main>"
    )
    page = Tab(chromium, tmp_path).go("x.html")

    assert page.evaluate(KINDS) == 3
    assert [rule for rule, _ in faults_of(page, {})] == ["link-name"]


def test_no_page_is_wider_than_the_screen(site, chromium):
    tab = Tab(chromium, site, width=PHONE)
    for name in PAGES:
        tab.go(name)
        assert tab.fits(PHONE, DESK, WALL)
    assert tab.calm()


def targets(page: Any) -> Any:
    """The table of the targets on the front page."""
    return page.get_by_role("region", name="Targets", exact=True)


def test_the_matrix_opens_on_what_was_judged_and_keeps_the_rest(site, chromium):
    tab = Tab(chromium, site)
    page = tab.go("matrix.html")
    shown, every = page.locator("#matrix tr[data-row]:visible"), page.locator("#matrix tr[data-row]").count()
    assert 0 < shown.count() < 10
    assert all(row.get_attribute("data-judged") == "yes" for row in shown.all())
    page.get_by_label("Rows").select_option("")
    assert shown.count() == every > 600
    assert page.get_by_role("status").inner_text() == f"{every} of {every} shown"
    page.reload()
    assert shown.count() == every
    assert tab.calm()


def test_the_picture_leads_to_what_was_judged(site, chromium):
    tab = Tab(chromium, site)
    page = tab.go("index.html")
    picture = page.get_by_role("region", name="Pages of the specification by target")
    assert picture.locator("svg.share").count() > 0
    picture.get_by_role("link", name="1 red").first.click()
    assert page.locator("h1").inner_text().startswith("node 1.10.0")
    assert page.locator("#page-session-establishment").is_visible()
    assert tab.calm()


def test_the_matrix_filters_sorts_and_remembers(site, chromium):
    tab = Tab(chromium, site)
    page = tab.go("matrix.html")
    shown = page.locator("#matrix tr[data-row]:visible")
    every = shown.count()
    page.get_by_label("Search").fill("cookie-must-match")
    assert shown.count() == 1
    page.get_by_label("Search").fill("")
    page.get_by_label("Verdict on any target").select_option("fail")
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
    head = targets(page).locator("th", has_text="Exit").locator("button").first
    head.click()
    exits = [text.strip() for text in targets(page).locator("tbody td:nth-child(3)").all_inner_texts()]
    assert exits == sorted(exits)
    assert targets(page).locator("th", has_text="Exit").first.get_attribute("aria-sort") == "ascending"
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
    assert page.evaluate("document.activeElement.textContent") == "Skip to content"
    page.keyboard.press("Enter")
    assert page.evaluate("location.hash") == "#main"


def test_what_targets_and_files_say_does_nothing(tmp_path, chromium):
    told = hostile.everything(tmp_path)
    read, unread = runs.load(runs.found(told.places))
    out = tmp_path / "a site"
    pages.write(out, build(Report(read, unread, told.documents, told.earlier)))
    tab = Tab(chromium, out, width=PHONE)
    for file in sorted(file for file in out.rglob("*.html") if file.parent.name != "spec" or file.name == "index.html"):
        page = tab.go(file.relative_to(out).as_posix())
        assert page.title() != "owned"
        assert page.locator("script").count() == 1
        assert page.locator("img").count() == 0
        assert tab.fits(PHONE, DESK)
    assert tab.calm()


# --- the questions that people come with: the number of clicks is part of the answer


def clicked(page: Any, *names: str) -> Any:
    """Follow links by what they say, from the front page."""
    for name in names:
        page.get_by_role("link", name=name, exact=True).first.click()
    return page


def test_does_a_version_conform(site, chromium):
    """No click: the word stands on the front page."""
    page = Tab(chromium, site).go("index.html")
    words = {
        row.locator("th").inner_text().splitlines()[0]: row.locator("td .v").first.inner_text()
        for row in targets(page).locator("tbody tr").all()
    }
    assert {name: word.split(maxsplit=1)[1] for name, word in words.items()} == {
        "node 1.9.0": "known deviations", "node 1.10.0": "deviates", "node 1.11.0": "conforms", "node 2": "incomplete",
    }  # fmt: skip


def test_what_is_its_worst_failure_and_the_bytes_of_it(site, chromium):
    """One click."""
    page = Tab(chromium, site).go("index.html")
    row = targets(page).locator("tbody tr", has_text="node 1.10.0")
    row.locator("td").last.get_by_role("link").click()
    assert page.locator("h1").inner_text().startswith("✗ fail")
    assert page.get_by_text("first difference, byte 0").is_visible()
    assert page.locator(".guilty td.hex").first.is_visible()


@pytest.mark.parametrize(("old", "new"), [("1.9.0", "1.10.0"), ("1.9.0", "2"), ("1.10.0", "1.11.0")])
def test_what_changed_from_one_version_to_another(site, chromium, old, new):
    """Two clicks for any two versions."""
    page = clicked(Tab(chromium, site).go("index.html"), "Changes")
    row = page.locator("table tbody tr").filter(has=page.get_by_role("rowheader", name=f"node {old}", exact=True))
    column = [head.strip() for head in page.locator("table thead th").all_inner_texts()].index(f"node {new}")
    row.locator("th, td").nth(column).get_by_role("link").click()
    assert page.locator("h1").inner_text() == f"node {old} → node {new}"


def test_what_was_not_tested_and_why(site, chromium):
    """No click for the numbers, one for the names."""
    page = Tab(chromium, site).go("index.html")
    table = page.get_by_role("region", name="What was not judged")
    row = table.locator("tbody tr", has_text="node 1.11.0")
    heads = table.locator("thead th").all_inner_texts()
    told = row.locator("td").nth(heads.index("told by vectors") - 1)
    count = int(told.inner_text())
    assert count > 100
    told.get_by_role("link").click()
    assert page.get_by_text("it concerns bytes alone").is_visible()
    assert page.locator("#told-by-vectors li").count() == count


def test_how_do_i_repeat_this(site, chromium):
    """No click for a run, one for a judgement."""
    page = Tab(chromium, site).go("index.html")
    made = page.get_by_role("region", name="How to repeat each run")
    assert made.locator("tr", has_text="node 1.10.0").locator("pre").inner_text() == "zconform run exec:node"
    clicked(page, "session-establishment/cookie-must-match")
    assert page.locator("#repeat-command").inner_text().startswith("zconform run exec:node --only")
    assert page.get_by_role("link", name="proof").first.get_attribute("href").endswith(".proof.json")


def test_a_table_of_many_targets_fits_and_can_be_read(make_run, tmp_path, chromium):
    site = written(
        tmp_path, [make_run(f"v{n}", "believes-any-cookie" if n > 7 else "", version=f"1.{n}.0") for n in range(14)]
    )
    tab = Tab(chromium, site, width=PHONE)
    for name in ("index.html", "matrix.html", "spec/close.html", "diff/index.html", "implementation/node.html"):
        page = tab.go(name)
        assert tab.fits(WALL, PHONE)
        if name == "matrix.html":
            assert page.get_by_role("link", name="fail", exact=True).count() > 0
        page.evaluate(KINDS)
        assert faults_of(page, {}) == [], name
    assert tab.calm()


def test_on_a_phone_the_gravest_deviation_needs_no_scrolling(site, chromium):
    page = Tab(chromium, site, width=PHONE).go("index.html")
    link = page.get_by_role("link", name="session-establishment/cookie-must-match").first
    box = link.bounding_box()
    assert box["x"] + box["width"] <= PHONE
