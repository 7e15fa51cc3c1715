"""Debian's Chromium by Playwright, and a look at everything that a page must not do."""

from __future__ import annotations

import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from urllib.parse import urlsplit

from axe_playwright_python.sync_playwright import Axe
from playwright.sync_api import Browser, ConsoleMessage, Page, Request, sync_playwright

from tests.debian import need

_ARGUMENTS = ["--no-sandbox", "--disable-dev-shm-usage", "--disable-gpu"]


def _installed() -> str:
    need("Chromium", lambda: shutil.which("chromium") is not None, "chromium")
    return str(shutil.which("chromium"))


@contextmanager
def chromium() -> Iterator[Browser]:
    path = _installed()
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=path, args=_ARGUMENTS)
        yield browser
        browser.close()


class Watched:
    """A page of a server; what it complained about, and whom else it asked."""

    def __init__(self, page: Page, url: str) -> None:
        self.page, self.url = page, url
        self.problems: list[str] = []
        self.expected: tuple[str, ...] = ()
        page.on("console", self._told)
        page.on("pageerror", lambda error: self.problems.append(f"error: {error}"))
        page.on("request", self._asked)
        page.on("dialog", lambda dialog: (self.problems.append("dialog"), dialog.dismiss()))

    def _told(self, message: ConsoleMessage) -> None:
        if message.type in ("error", "warning"):
            self.problems.append(f"{message.type}: {message.text}")

    def _asked(self, request: Request) -> None:
        theirs = urlsplit(request.url)
        if theirs.scheme not in ("data", "blob") and theirs.netloc != urlsplit(self.url).netloc:
            self.problems.append(f"foreign: {request.url}")

    def open(self, path: str) -> Page:
        self.page.goto(f"{self.url}/ui/{path}")
        return self.page

    def check(self) -> None:
        """Nothing has gone wrong but what was ``expected``."""
        found = [each for each in self.problems if not any(part in each for part in self.expected)]
        assert found == [], found

    def check_accessible(self) -> None:
        """axe finds nothing serious."""
        found = Axe().run(self.page).response["violations"]
        serious = [
            (each["id"], each["nodes"][0]["html"]) for each in found if each["impact"] in ("serious", "critical")
        ]
        assert serious == [], serious


@contextmanager
def watched(browser: Browser, url: str, **options: object) -> Iterator[Watched]:
    """A page in a browser context of its own, and a look at what it did in the end."""
    context = browser.new_context(**options)  # type: ignore[arg-type]
    found = Watched(context.new_page(), url)
    found.page.set_default_timeout(60_000)
    try:
        yield found
        found.check()
    finally:
        context.close()
