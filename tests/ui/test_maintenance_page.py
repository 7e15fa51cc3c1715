"""The budgets of maintenance as people read them."""

from __future__ import annotations

import re

from coordinator.server.ui.page import make_environment
from coordinator.server.ui.statements import Rows
from coordinator.vocabulary.planned_statement import Column

NAMES = ("name", "used", "most", "window_open", "open_until")
COLUMNS = tuple(Column(name, "varchar") for name in NAMES)


def drawn(*budget: tuple[object, ...]) -> str:
    found = dict.fromkeys(("tables", "jobs", "decisions", "policies"), Rows())
    found["budget"] = Rows(COLUMNS, budget)
    page = make_environment().get_template("maintenance.html")
    html = page.render(layout="fragment.html", found=found, active=False, form_token="")
    return " ".join(re.sub(r"<[^>]*>", " ", html.partition('id="budget"')[2].partition("</section>")[0]).split())


def test_budgets_are_bars_beside_their_numbers() -> None:
    text = drawn(
        ("bytes_per_day", 3.0 * (1 << 30), 4.0 * (1 << 30), True, None),
        ("seconds_per_day", 5400.0, 3600.0, True, None),
        ("jobs_of_a_day", 12.0, None, True, None),
    )
    assert "There is no window: calls begin at any time." in text
    assert "bytes per day 3.0 GB 4.0 GB 75 % 75 %" in text
    assert "seconds per day 1 h 30 min 1 h 0 min 150 % 150 %" in text
    assert text.endswith("jobs of a day 12 no limit")


def test_the_window_is_told() -> None:
    assert "open until 2026-01-01 05:00:00 UTC." in drawn(("jobs_of_a_day", 0.0, None, True, "2026-01-01 05:00:00 UTC"))
    assert "The window is closed" in drawn(("jobs_of_a_day", 0.0, None, False, None))
