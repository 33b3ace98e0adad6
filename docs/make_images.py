"""Draw the pictures of the documentation again: ``python docs/make_images.py``, with Chromium installed."""

import contextlib
import re
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path

from PIL import Image
from playwright.sync_api import Browser, sync_playwright

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


VIEWS = {
    "serve-search": ("#/search/remove%20noise%20from%20an%20image", "#results li"),
    "serve-compare": ("#/compare/remove%20noise%20from%20an%20image/fit%20a%20smoothing%20spline", "table.moves"),
    "serve-classify": ("#/classify", "#text"),
}


@contextlib.contextmanager
def opened_browser() -> Iterator[Browser]:
    browser_path = shutil.which("chromium") or shutil.which("google-chrome")
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=browser_path, args=ARGUMENTS)
        yield browser
        browser.close()


def photograph_service(model_folder: Path) -> None:
    """Take pictures of the service's page: search, comparison, classification."""
    command = [sys.executable, "-m", "treewass", "serve", str(model_folder), "--port", "0"]
    with subprocess.Popen(command, stdout=subprocess.PIPE, encoding="utf-8") as service, opened_browser() as browser:
        address = re.search(r"http://\S+:\d+", service.stdout.readline())[0]
        for name, (path, awaited) in VIEWS.items():
            page = browser.new_page(viewport={"width": 1200, "height": 780})
            page.goto(f"{address}/{path}")
            page.locator(awaited).first.wait_for()
            if name == "serve-classify":
                page.locator("#text").fill("design a digital low pass filter with a given frequency response")
                page.get_by_role("button", name="Classify").click()
                page.locator(".figure .badge").wait_for()
            page.screenshot(path=FOLDER / f"{name}.png")
        service.terminate()


def photograph(page_file: Path) -> None:
    """Take pictures of the report: its tree with a branch open, and its findings on dark ground."""
    with opened_browser() as browser:
        for scheme, section in (("light", "tree"), ("dark", "samples")):
            page = browser.new_page(viewport={"width": 1200, "height": 780}, color_scheme=scheme)
            page.goto(page_file.as_uri())
            page.wait_for_selector("#tree-picture[data-ready=true]")
            if section == "tree":
                page.locator("#branch button").nth(2).click()
            page.evaluate(f"document.getElementById('{section}').scrollIntoView()")
            page.wait_for_timeout(1500)
            page.screenshot(path=FOLDER / f"report-{section}.png")


def main() -> None:
    FOLDER.mkdir(exist_ok=True)
    model = DocumentModel()
    fit_corpus(model, load_docstrings(), test_size=0.3, seed=0)
    save_picture(tree(model, max_rows=24), FOLDER / "tree.png")
    query = "remove noise from an image with a smoothing filter"
    save_picture(plan(model.explain(query, "fit a smoothing spline to noisy data")), FOLDER / "plan.png")
    save_picture(confusion(Evaluation.from_dict(model.contents_.evaluation)), FOLDER / "confusion.png")
    with tempfile.TemporaryDirectory() as folder:
        make_report(model).write_html(Path(folder, "report.html"))
        photograph(Path(folder, "report.html"))
        model.save(Path(folder, "scipy-docs"))
        photograph_service(Path(folder, "scipy-docs"))
    for path in FOLDER.glob("*.png"):
        shrink(path)


if __name__ == "__main__":
    main()
