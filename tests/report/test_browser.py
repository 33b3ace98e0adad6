"""The report in a browser: clicks, keys, markup, and no request that leaves the file."""

import pytest

from tests.report.cases import EVIL, labelled_texts
from treewass import DocumentModel
from treewass.report import make_report

ARGUMENTS = [
    "--headless", "--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run",
    "--disable-background-networking", "--disable-component-update", "--disable-sync",
]  # fmt: skip
pytestmark = pytest.mark.browser


@pytest.fixture(scope="module")
def report_file(tmp_path_factory):
    texts, labels, _ = labelled_texts()
    model = DocumentModel(n_neighbors=5).fit(
        [EVIL, *texts], ["<b>evil</b>", *labels], titles=[EVIL, *[""] * len(texts)]
    )
    path = tmp_path_factory.mktemp("report") / "report.html"
    make_report(model).write_html(path)
    return path


@pytest.fixture(scope="module")
def browser(chromium):
    from playwright.sync_api import sync_playwright

    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=chromium, args=ARGUMENTS)
        yield browser
        browser.close()


@pytest.fixture
def page(browser, report_file):
    """The report, opened; whatever it asks for and complains about is noted."""
    context = browser.new_context(viewport={"width": 1280, "height": 900})
    page = context.new_page()
    page.requests, page.complaints = [], []
    page.on("request", lambda request: page.requests.append(request.url))
    page.on("console", lambda message: page.complaints.append(message.text))
    page.on("pageerror", lambda error: page.complaints.append(str(error)))
    page.goto(report_file.as_uri())
    for picture in ("#tree-picture", "#map-picture"):
        page.wait_for_selector(f"{picture}[data-ready=true]")
    yield page
    context.close()


def test_a_report_without_labels_shows_the_tree_and_near_duplicates(browser, tmp_path):
    texts = labelled_texts(60)[0]
    make_report(DocumentModel().fit([EVIL, *texts])).write_html(tmp_path / "report.html")
    complaints = []
    with browser.new_context() as context:
        page = context.new_page()
        page.on("console", lambda message: complaints.append(message.text))
        page.on("pageerror", lambda error: complaints.append(str(error)))
        page.goto((tmp_path / "report.html").as_uri())
        page.wait_for_selector("#tree-picture[data-ready=true]")
        before = page.locator("#branch").get_attribute("data-branch")
        page.locator("#branch button").first.click()
        assert page.locator("#branch").get_attribute("data-branch") != before
        assert "Heaviest words" in page.locator("#branch").inner_text()
        assert page.locator("#duplicates details").count() > 0
        for part in ("#errors", "#suspects", ".confusion"):
            assert page.locator(part).count() == 0, part
        assert "owned" not in page.title()
    assert complaints == []


def test_nothing_is_asked_for_and_nothing_fails(page, report_file):
    page.mouse.wheel(0, 4000)
    for details in page.locator("details").all():
        details.locator("summary").click()
    assert page.requests == [report_file.as_uri()]
    assert page.complaints == []


def test_requests_and_foreign_scripts_are_forbidden(page):
    failed = page.evaluate("fetch('https://example.org/').then(() => false, () => true)")
    assert failed
    page.evaluate(
        "const s = document.createElement('script'); s.textContent = 'window.ran = true'; document.body.append(s)"
    )
    assert page.evaluate("window.ran") is None


def test_markup_in_documents_shows_as_text(page):
    assert "owned" not in page.title()
    assert page.locator("body img").count() == 0
    assert page.locator("body script").count() == 3
    assert "<script>document.title = 'owned'</script>" in page.locator("main").inner_text()
    assert "<b>evil</b>" in page.locator("#errors").inner_text()


def test_a_click_opens_a_branch(page):
    before = page.locator("#branch").get_attribute("data-branch")
    page.locator("#tree-picture g.slice").nth(1).click(position={"x": 20, "y": 10})  # its name, above what is in it
    page.wait_for_function("before => document.getElementById('branch').dataset.branch !== before", arg=before)
    panel = page.locator("#branch").inner_text()
    for piece in ("Classes", "Heaviest words", "Documents with most of their mass here"):
        assert piece in panel


def test_the_tree_can_be_walked_by_keys(page):
    page.locator("#branch button").first.focus()
    target = page.locator("#branch button").first.get_attribute("data-branch")
    page.keyboard.press("Enter")
    assert page.locator("#branch").get_attribute("data-branch") == target
    assert page.evaluate("document.activeElement.tagName") == "H3"
    page.keyboard.press("Tab")
    assert "↑" in page.evaluate("document.activeElement.textContent")
    page.keyboard.press("Space")
    assert page.locator("#branch").get_attribute("data-branch") == "node0"


def test_keys_reach_contents_and_details(page):
    page.keyboard.press("Tab")
    assert page.evaluate("document.activeElement.className") == "skip"
    page.keyboard.press("Enter")
    assert page.evaluate("document.activeElement.id") == "main"
    details = page.locator("#duplicates details").first
    details.locator("summary").focus()
    page.keyboard.press("Enter")
    assert details.get_attribute("open") is not None


def test_dark_and_narrow_screens_are_served(page):
    def ground():
        return page.evaluate("getComputedStyle(document.body).backgroundColor")

    light = ground()
    page.emulate_media(color_scheme="dark")
    assert ground() != light
    page.set_viewport_size({"width": 420, "height": 800})
    page.wait_for_function("() => document.documentElement.scrollWidth <= 420")
    assert page.complaints == []


def test_doubtful_labels_can_be_filtered(page):
    entries = page.locator("#suspects details")
    visible = page.locator("#suspects details:not([hidden])")
    total = entries.count()
    assert total > 1
    kind = entries.first.get_attribute("data-kind")
    page.select_option("form[data-list=suspects] select", kind)
    assert {entry.get_attribute("data-kind") for entry in visible.all()} == {kind}
    assert page.locator("form[data-list=suspects] output").inner_text() == f"{visible.count()} shown"
    page.select_option("form[data-list=suspects] select", "")
    page.fill(
        "form[data-list=suspects] input", " ".join(entries.nth(1).locator(".text").first.text_content().split()[-9:-1])
    )
    assert 1 <= visible.count() < total
    page.fill("form[data-list=suspects] input", "no such word")
    assert visible.count() == 0
    assert page.complaints == []


def test_near_duplicates_can_be_filtered(page):
    visible = page.locator("#pairs details:not([hidden])")
    total = visible.count()
    page.fill("form[data-list=pairs] input", f"id {len(labelled_texts()[0])}")  # the last text, after the evil one
    assert visible.count() == 1 < total
    assert page.locator("form[data-list=pairs] output").inner_text() == f"{visible.count()} shown"


def test_the_first_of_a_long_list_are_shown_and_all_are_searched(browser, tmp_path):
    texts, labels, _ = labelled_texts(60)
    copies = [f"{text} {copy}" for text in texts[:20] for copy in ("one", "two", "three")]
    model = DocumentModel(n_neighbors=3).fit(
        [*texts, *copies], [*labels, *[label for label in labels[:20] for _ in range(3)]]
    )
    make_report(model).write_html(tmp_path / "report.html")
    with browser.new_context() as context:
        page = context.new_page()
        page.goto((tmp_path / "report.html").as_uri())
        page.wait_for_selector("#map-picture[data-ready=true]")
        visible = page.locator("#pairs details:not([hidden])")
        total = page.locator("#pairs details").count()
        assert visible.count() == 50 < total
        last = page.locator("#pairs details").last.locator("summary .id").first.inner_text()
        page.fill("form[data-list=pairs] input", last)
        assert 1 <= visible.count() < 50
        page.fill("form[data-list=pairs] input", "")
        output = page.locator("form[data-list=pairs] output")
        assert output.inner_text() == f"50 of {total} shown"
        page.locator("button[data-list=pairs]").press("Enter")
        assert visible.count() == total
        assert page.locator("button[data-list=pairs]").is_hidden()
        assert page.evaluate(
            "document.activeElement.closest('details') === document.querySelectorAll('#pairs details')[50]"
        )


def opacities(page):
    """How strongly the points of the map are drawn."""
    return page.evaluate(
        "[...document.querySelectorAll('#map-picture .point')].map((point) => Number(getComputedStyle(point).opacity))"
    )


def test_the_map_is_searched_by_words_and_labels(page):
    total = page.locator("#map-picture .point").count()
    assert page.locator("#map-count").inner_text() == f"{total} documents"
    page.fill("#map-words", "cats purr")
    assert page.locator("#map-documents li").count() == 1
    assert page.locator("#map-count").inner_text() == "1 document"
    page.wait_for_function(
        "() => [...document.querySelectorAll('#map-picture .point')].some((point) => point.style.opacity < 0.5)"
    )
    assert sum(opacity > 0.5 for opacity in opacities(page)) == 1
    page.fill("#map-words", "")
    button = page.get_by_role("button", name="red", exact=True)
    button.focus()
    page.keyboard.press("Enter")
    assert button.get_attribute("aria-pressed") == "false"
    page.wait_for_function(f"() => document.querySelectorAll('#map-picture .point').length < {total}")
    button.click()
    page.wait_for_function(f"() => document.querySelectorAll('#map-picture .point').length === {total}")
    assert page.complaints == []


def test_hovering_and_clicking_a_point_shows_its_text(page):
    page.get_by_role("button", name="<b>evil</b>").scroll_into_view_if_needed()
    for label in ("red", "green", "blue"):
        page.get_by_role("button", name=label, exact=True).click()
    page.wait_for_function("() => document.querySelectorAll('#map-picture .point').length === 1")
    page.locator("#map-picture .point").hover(force=True)
    page.locator("#map-picture .hovertext").wait_for()
    assert "<script>" in page.locator("#map-picture .hovertext").text_content()
    page.mouse.down()
    page.mouse.up()
    page.locator("#map-documents li").wait_for()
    assert "<script>" in page.locator("#map-documents li").inner_text()
    assert "owned" not in page.title()


def test_confusions_are_read_on_a_phone(page):
    page.set_viewport_size({"width": 400, "height": 800})
    row = page.locator(".confusion tbody tr").first
    shown = row.locator("td").evaluate_all(
        "cells => cells.filter((cell) => cell.offsetParent).map((cell) => cell.textContent)"
    )
    assert shown
    assert all(int(count) > 0 for count in shown)
    assert page.locator(".confusion").evaluate("table => table.scrollWidth") <= 400
