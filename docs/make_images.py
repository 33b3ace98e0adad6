"""Draw the pictures of the documentation again: ``python docs/make_images.py``, with Chromium installed."""

import shutil
import tempfile
from pathlib import Path

from PIL import Image
from playwright.sync_api import sync_playwright

from treewass import DocumentModel
from treewass.cli.fit import fit_corpus
from treewass.documents import load_docstrings
from treewass.model import Evaluation
from treewass.plot import confusion, plan, save_picture, tree
from treewass.report import make_report

FOLDER = Path(__file__).with_name("images")
ARGUMENTS = ["--headless", "--no-sandbox", "--disable-gpu", "--no-first-run", "--disable-background-networking"]


def shrink(path: Path) -> None:
    """Hold a picture in 128 colours, which is a third of the bytes."""
    Image.open(path).convert("RGB").quantize(128).save(path, optimize=True)


def photograph(page_file: Path) -> None:
    """Take pictures of the report: its tree with a branch open, and its findings on dark ground."""
    browser_path = shutil.which("chromium") or shutil.which("google-chrome")
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=browser_path, args=ARGUMENTS)
        for scheme, section in (("light", "tree"), ("dark", "samples")):
            page = browser.new_page(viewport={"width": 1200, "height": 780}, color_scheme=scheme)
            page.goto(page_file.as_uri())
            page.wait_for_selector("#tree-picture[data-ready=true]")
            if section == "tree":
                page.locator("#branch button").nth(2).click()
            page.evaluate(f"document.getElementById('{section}').scrollIntoView()")
            page.wait_for_timeout(1500)
            page.screenshot(path=FOLDER / f"report-{section}.png")
        browser.close()


def main() -> None:
    FOLDER.mkdir(exist_ok=True)
    model = DocumentModel()
    fit_corpus(model, load_docstrings(), test_size=0.3, seed=0)
    save_picture(tree(model), FOLDER / "tree.png")
    query = "remove noise from an image with a smoothing filter"
    save_picture(plan(model.explain(query, "fit a smoothing spline to noisy data")), FOLDER / "plan.png")
    save_picture(confusion(Evaluation.from_dict(model.contents_.evaluation)), FOLDER / "confusion.png")
    with tempfile.TemporaryDirectory() as folder:
        make_report(model).write_html(Path(folder, "report.html"))
        photograph(Path(folder, "report.html"))
    for path in FOLDER.glob("*.png"):
        shrink(path)


if __name__ == "__main__":
    main()
