"""Cards in a page that has a theme of its own, as notebooks have."""

import pytest

from tests.cards.cases import shown_objects
from treewass import DocumentModel

pytestmark = pytest.mark.browser


@pytest.fixture(scope="module")
def page(chromium):
    from playwright.sync_api import sync_playwright

    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(
            executable_path=chromium, args=["--headless", "--no-sandbox", "--disable-gpu"]
        )
        page = browser.new_page(viewport={"width": 400, "height": 800}, color_scheme="light")
        page.requests = []
        page.on("request", lambda request: page.requests.append(request.url))
        page.set_content("<title>notebook</title>" + "".join(thing._repr_html_() for thing in shown_objects().values()))
        yield page
        browser.close()


def test_nothing_runs_and_nothing_is_asked_for(page):
    assert page.title() == "notebook"
    assert page.requests == []
    assert page.locator("img, script").count() == 0


def test_the_notebooks_theme_decides(page):
    def ground():
        return page.locator(".treewass").first.evaluate("card => getComputedStyle(card).backgroundColor")

    light = ground()
    page.evaluate("document.body.dataset.jpThemeLight = 'false'")
    dark = ground()
    assert dark != light
    page.emulate_media(color_scheme="dark")
    page.evaluate("document.body.dataset.jpThemeLight = 'true'")
    assert ground() == light
    page.evaluate("delete document.body.dataset.jpThemeLight")
    assert ground() == dark


def test_cards_fit_a_phone(page):
    assert page.evaluate("document.documentElement.scrollWidth") <= 400
    plain = DocumentModel(n_neighbors=1).fit(["the cat purrs", "a dog growls"] * 2, ["cat", "dog"] * 2)
    cards = [plain.explain("my cat purrs", "a dog"), plain.explain_prediction("a cat")]
    page.set_content("<title>notebook</title>" + "".join(card._repr_html_() for card in cards))
    assert page.evaluate("document.documentElement.scrollWidth") <= 400
    for card in page.locator(".card").all():
        assert card.evaluate("card => card.scrollWidth <= card.clientWidth")
        card.focus()
        assert card.evaluate("card => card === document.activeElement && card.ariaLabel !== ''")
