"""The pictures of docs/ui.md, taken of a whole service. ``SCREENSHOTS=1`` writes them where the page shows them."""

from __future__ import annotations

import os
from contextlib import suppress
from pathlib import Path

import pyarrow as pa
import pytest
from prestodb.exceptions import PrestoUserError

from tests.ui.chromium import chromium, watched

pytestmark = pytest.mark.slow
IMAGES = Path(__file__).parents[2] / "docs" / "images"
NAMES = ("overview", "queries", "query", "plan", "table", "call", "editor")
OUTSIDE = """() => [...document.querySelectorAll(".node")].flatMap(node => [...node.querySelectorAll("text")]
  .filter(text => text.getComputedTextLength() + 10 > node.querySelector("rect").width.baseVal.value)
  .map(text => text.textContent))"""
"""Texts that are longer than the box of their node."""
JOIN = """SELECT r.name, count(*) AS orders, sum(o.totalprice) AS total
FROM tpch.tiny.orders o
JOIN tpch.tiny.customer c ON o.custkey = c.custkey
JOIN tpch.tiny.nation n ON c.nationkey = n.nationkey
JOIN tpch.tiny.region r ON n.regionkey = r.regionkey
WHERE o.orderdate >= DATE '1995-01-01' + INTERVAL '1' MONTH
GROUP BY r.name ORDER BY total DESC"""


@pytest.fixture(scope="module")
def service(quiet_service):
    days = [pa.table({"id": pa.array(range(n * 400, n * 400 + 400 * (n + 1)), pa.int64())}) for n in range(4)]
    quiet_service.create("pictured", days)
    quiet_service.execute("SELECT count(*) FROM iceberg.db.pictured WHERE id > 700")
    with suppress(PrestoUserError):
        quiet_service.execute("SELECT nme FROM tpch.tiny.nation")
    quiet_service.execute(JOIN)
    return quiet_service


def test_pictures_of_the_docs(service, tmp_path):
    folder = IMAGES if os.environ.get("SCREENSHOTS") == "1" else tmp_path
    folder.mkdir(exist_ok=True)
    joined = next(q["queryId"] for q in service.get("/v1/query") if "totalprice" in q["query"])
    with chromium() as browser, watched(browser, service.url, viewport={"width": 1200, "height": 800}) as shown:
        for name, path in {
            "overview": "",
            "queries": "queries",
            "query": f"query.html?{joined}",
            "table": "table?catalog=iceberg&schema=db&table=pictured&tab=snapshots",
            "call": "call?catalog=iceberg&procedure=rewrite_data_files",
        }.items():
            shown.open(path)
            shown.page.screenshot(path=folder / f"{name}.png")
            if name == "query":
                shown.page.locator(".plan").screenshot(path=folder / "plan.png")
                assert shown.page.evaluate(OUTSIDE) == []
        page = shown.open("editor?catalog=tpch&schema=tiny")
        page.fill("#sql", JOIN)
        page.locator("#verdict").get_by_text("SELECT").wait_for()
        page.click("#run")
        page.locator("#result tbody tr").nth(4).wait_for()
        page.screenshot(path=folder / "editor.png")
    taken = {name: (folder / f"{name}.png").read_bytes() for name in NAMES}
    for name, picture in taken.items():
        assert picture[:8] == b"\x89PNG\r\n\x1a\n", name
        assert 10_000 < len(picture) < 400_000, (name, len(picture))
    assert len(set(taken.values())) == len(NAMES)


def test_the_page_shows_them_all():
    text = (IMAGES.parent / "ui.md").read_text(encoding="utf-8")
    assert [name for name in NAMES if f"(images/{name}.png)" not in text] == []
    assert sorted(path.stem for path in IMAGES.iterdir()) == sorted(NAMES)
