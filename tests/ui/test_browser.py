"""Pages in a real browser, over a whole service and over the fakes of tests/protocol."""

from __future__ import annotations

import json
import threading

import httpx
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from coordinator.security.access_control.built_in import OwnQueries
from coordinator.security.authentication.authentication import Authentication
from coordinator.server.settings import ServerSettings
from tests.protocol.test_authentication import Words, as_
from tests.tiers import FULL
from tests.ui.chromium import chromium, watched

pytestmark = pytest.mark.slow
HOSTILE = """<img src=x onerror=alert(1)>"'><script>alert(2)</script>"""
TABLE = "catalog=iceberg&schema=db&table=shown"
ALL_TABS = ("columns", "files", "partitions", "snapshots", "properties", "statistics", "statements")
TABS = ALL_TABS if FULL else ("files", "snapshots", "statements")
"""Those with a drawing, and one of the others, which are tables alike."""
ROWS = "shown a CROSS JOIN shown b"
SLOW_ROWS = f"SELECT a.id, length(replace(rpad(CAST(a.id AS varchar), 3000, 'ab'), 'ab', 'ba')) AS n FROM {ROWS}"
"""Four million, which do not end by themselves before a slow browser has the first thousand."""


@pytest.fixture(scope="module")
def browser():
    with chromium() as running:
        yield running


@pytest.fixture(scope="module")
def service(quiet_service):
    part = pa.table({"id": pa.array(range(1000), pa.int64()), HOSTILE: pa.array(["x"] * 1000)})
    quiet_service.create("shown", [part, part])
    return quiet_service


def pages(query_id):
    lake = ("lake", "lake?catalog=iceberg", "lake?catalog=iceberg&schema=db")
    others = ("", "queries", "queries?where=history", "procedures", "maintenance", "groups", "node", "login", "editor")
    call = "call?catalog=iceberg&procedure=rewrite_data_files"
    return (*others, *lake, call, f"query.html?{query_id}", *(f"table?{TABLE}&tab={tab}" for tab in TABS))


def test_every_page(browser, service):
    service.execute("CREATE MATERIALIZED VIEW iceberg.db.view_with_rows AS SELECT id FROM iceberg.db.shown")
    service.execute("SELECT count(*) FROM iceberg.db.shown s JOIN iceberg.db.shown t ON s.id = t.id WHERE s.id > 5")
    query_id = service.get("/v1/query")[0]["queryId"]
    dark = {"color_scheme": "dark", "viewport": {"width": 390, "height": 800}}
    with watched(browser, service.url) as light, watched(browser, service.url, **dark) as phone:
        for path in pages(query_id):
            page = light.open(path)
            assert page.locator("h1").count() == 1, path
            assert page.locator(".bad[role=alert]").count() == 0, (path, page.locator(".bad").all_inner_texts())
            light.check_accessible()
            if path.endswith(("statements", "editor", "node", "maintenance")) or path.startswith(("query", "call")):
                phone.open(path)
                wide = "document.documentElement.scrollWidth - document.documentElement.clientWidth"
                assert phone.page.evaluate(wide) <= 0, path
        light.open("lake?catalog=iceberg&schema=db")
        kinds = dict(row.split("\t") for row in light.page.locator("tbody tr").all_inner_texts())
        assert (kinds["view_with_rows"], kinds["shown"]) == ("MATERIALIZED VIEW, STALE", "BASE TABLE")
        phone.open(f"query.html?{query_id}")
        phone.check_accessible()
        shown = light.open(f"query.html?{query_id}")
        assert "accepted" in shown.locator(".plan").inner_text()
        light.open(f"table?{TABLE}&tab=files")
        assert "2 files" in light.page.locator(".bars").inner_text()
        light.open(f"table?{TABLE}&tab=snapshots")
        assert light.page.locator(".snapshots circle").count() == 2
        phone.open(f"table?{TABLE}&tab=snapshots")
        dot = phone.page.locator(".snapshots circle").first.bounding_box()
        assert dot is not None and dot["width"] > 5, dot
        light.page.keyboard.press("Tab")
        assert light.page.evaluate("document.activeElement.className") == "skip"


def test_the_editor(browser, service):
    with watched(browser, service.url, accept_downloads=True) as editor:
        page = editor.open("editor?catalog=iceberg&schema=db")
        page.fill("#sql", "SELECT id, '<img src=x onerror=alert(1)>' AS t FROM shown ORDER BY id LIMIT 3")
        page.locator("#verdict").get_by_text("SELECT").wait_for()
        page.click("#run")
        page.locator("#result tbody tr").nth(2).wait_for()
        assert page.locator("#result tbody tr").first.locator("td").all_inner_texts() == [
            "0",
            "<img src=x onerror=alert(1)>",
        ]
        page.locator("#downloads").wait_for()
        with page.expect_download() as download:
            page.click("#json")
        assert json.loads(download.value.path().read_text())[0] == {"id": 0, "t": "<img src=x onerror=alert(1)>"}
        with page.expect_download() as download:
            page.click("#parquet")
        found = pq.read_table(download.value.path())
        assert (found.num_rows, found.to_pylist()[0]) == (3, {"id": 0, "t": "<img src=x onerror=alert(1)>"})
        page.click("#graph")
        page.locator("#plan .node").first.wait_for()
        page.fill("#sql", "SELECT id,\n  nowhere\nFROM shown")
        assert page.locator("#paint .wrong").inner_text() == "nowhere"
        page.fill("#sql", "SELECT id FROM sho")
        page.locator("#suggestions").get_by_text("shown").wait_for()
        page.press("#sql", "Control+Space")
        assert page.input_value("#sql") == "SELECT id FROM shown"
        page.fill("#sql", "SELECT id FROM shown GROUP ")
        page.locator("#suggestions").get_by_text("BY", exact=True).click()
        assert page.input_value("#sql") == "SELECT id FROM shown GROUP BY"
        page.fill("#sql", "SELECT id FROM shown WH")
        page.locator("#suggestions").get_by_text("WHERE").wait_for()
        # Other tests may have made schemas and tables whose names begin so.
        assert "WHEN" not in page.locator("#suggestions button").all_inner_texts()
        page.fill("#sql", "SELECT id,\n  nowhere\nFROM shown")
        page.press("#sql", "Control+Enter")
        assert page.locator("#problem mark").inner_text() == "nowhere"
        page.fill("#sql", SLOW_ROWS)
        page.click("#run")
        page.locator("#status").get_by_text("The first 1000 rows").wait_for()
        assert page.locator("#result tbody tr").count() == 1000
        page.locator("#downloads").wait_for()
        page.click("#detail")
        assert page.locator(".state").first.inner_text() == "finished"
        assert "PARTIAL_RESULT_WARNING" in page.locator("section[aria-labelledby=warnings]").inner_text()


def test_what_is_ended_early_ends_well_where_the_engine_is_slow_to_stop(browser, service):
    with watched(browser, service.url) as editor:
        page = editor.open("editor?catalog=iceberg&schema=db")
        later = []

        def stop_later(route):
            later.append(threading.Timer(1, httpx.delete, [route.request.url]))
            later[0].start()
            route.fulfill(status=204)

        page.route("**/v1/statement/partial/**", stop_later)
        page.fill("#sql", f"SELECT a.id FROM {ROWS}")
        page.click("#run")
        page.locator("#downloads").wait_for()
        later[0].join()
        page.click("#detail")
        assert page.locator(".state").first.inner_text() == "finished"


def test_numbers_of_a_result_are_those_of_the_server(browser, service):
    numbers = "9007199254740993 AS n, 1e0 AS one, 1e100 AS huge, MAP(ARRAY['k'], ARRAY[9223372036854775807]) AS m"
    with watched(browser, service.url, accept_downloads=True) as editor:
        page = editor.open("editor?catalog=iceberg&schema=db")
        page.fill("#sql", f"SELECT {numbers}, '12345678901234567890' AS s, 2 AS n")
        page.click("#run")
        page.locator("#downloads").wait_for()
        shown = page.locator("#result tbody td").all_inner_texts()
        digits = ["9007199254740993", "1.0", "1e100", '{"k":9223372036854775807}', "12345678901234567890", "2"]
        assert shown == digits
        assert page.locator("#result th.number").all_inner_texts() == ["n", "one", "huge", "n"]
        with page.expect_download() as download:
            page.click("#json")
        (row,) = json.loads(download.value.path().read_text(), parse_float=str)
        assert (row["n"], row["m"], row["one"], row["n_2"]) == (9007199254740993, {"k": 9223372036854775807}, "1.0", 2)
        with page.expect_download() as download:
            page.click("#csv")
        assert '"9007199254740993","1.0",' in download.value.path().read_text()


def test_cancelling_is_said_and_a_place_behind_wide_characters_is_marked(browser, service):
    with watched(browser, service.url) as editor:
        page = editor.open("editor?catalog=iceberg&schema=db")
        page.fill("#sql", "SELECT count(*) FROM tpch.sf1.lineitem a CROSS JOIN tpch.sf1.lineitem b")
        page.click("#run")
        page.locator("#status").get_by_text("RUNNING").wait_for()
        page.click("#cancel")
        page.locator("#status").get_by_text("Cancelled, 0 rows").wait_for()
        assert not page.locator("#problem").is_visible()
        page.fill("#sql", "SELECT '\N{GRINNING FACE}\N{GRINNING FACE}', nowhere")
        page.click("#run")
        page.locator("#problem mark").wait_for()
        assert page.locator("#problem mark").inner_text() == "nowhere"


def test_the_editor_has_a_session(browser, service):
    with watched(browser, service.url) as editor:
        page = editor.open("editor?catalog=iceberg&schema=db")

        def run(sql, shown):
            page.fill("#sql", sql)
            page.click("#run")
            page.locator("#result tbody").get_by_text(shown).first.wait_for()

        run("SET SESSION query_max_run_time = '77m'", "true")
        run("CREATE TEMPORARY FUNCTION thrice(x bigint) RETURNS bigint RETURN 3 * x", "true")
        run("PREPARE mine FROM SELECT thrice(14)", "true")
        said = "This page's session: query_max_run_time = 77m, prepared mine, function thrice"
        assert page.locator("#kept").inner_text() == said
        run("SHOW SESSION LIKE 'query_max_run_time'", "77m")
        run("EXECUTE mine", "42")
        run("USE information_schema", "true")
        assert page.input_value("#editor [name=schema]") == "information_schema"
        run("DROP TEMPORARY FUNCTION thrice", "true")
        page.click("#forget")
        assert page.locator("#kept").inner_text() == ""
        run("SHOW SESSION LIKE 'query_max_run_time'", "query_max_run_time")
        assert "77m" not in page.locator("#result").inner_text()


def test_a_dry_run_by_a_form(browser, service):
    with watched(browser, service.url) as form:
        page = form.open("call?catalog=iceberg&procedure=expire_snapshots")
        page.get_by_label("schema").fill("db")
        page.get_by_label("table_name").fill("it's")
        page.click("text=Dry run")
        assert "it's" in page.locator(".bad").inner_text()
        page.get_by_label("table_name").fill("shown")
        page.get_by_label("older_than").fill("2020-01-01 00:00:00")
        page.click("text=Dry run")
        assert "\"table_name\" => 'shown'" in page.locator("pre.sql").inner_text()
        assert page.locator(".bad").count() == 0


@pytest.fixture
def fakes(start_server):
    with start_server() as running:
        yield running


@pytest.mark.full("the page of a query and a killed one without a browser in test_pages")
def test_pages_live_and_kill(browser, fakes):
    with watched(browser, fakes.url) as one, watched(browser, fakes.url) as all_of_them:
        all_of_them.open("queries")
        assert all_of_them.page.locator("tbody tr").count() == 0
        first = fakes.until(fakes.post("SELECT slow", {"X-Presto-User": HOSTILE}), "RUNNING")
        query_id = first.json()["id"]
        page = one.open(f"query.html?{query_id}")
        assert HOSTILE in page.locator("dl").first.inner_text()
        page.click("summary")
        page.fill("input[name=reason]", "enough of this")
        page.wait_for_timeout(1500)
        assert page.input_value("input[name=reason]") == "enough of this", "what is typed stays"
        all_of_them.page.locator(f'a[href="query.html?{query_id}"]').wait_for()
        page.click("text=Kill this query")
        page.locator("text=ADMINISTRATIVELY_KILLED").wait_for()
        assert "enough of this" in page.locator(".message").inner_text()
        all_of_them.page.locator("text=ADMINISTRATIVELY_KILLED").wait_for()


@pytest.mark.parametrize("width", [1280, 390])
def test_long_names_leave_room_for_the_rest(browser, fakes, width):
    """At 1280 pixels all columns of a list are seen, on a phone the statements are; nothing is wider than its page."""
    user = "a.very.long.user.name@department.of.the.example.company.example"
    done = fakes.pages("SELECT 1/0", {"X-Presto-User": user, "X-Presto-Source": "dashboards-" * 6})[-1].json()
    wide = "e => e.scrollWidth - e.clientWidth"
    with watched(browser, fakes.url, viewport={"width": width, "height": 900}) as shown:
        page = shown.open("queries")
        beyond = page.locator(".scroll").evaluate(wide)
        assert width == 390 or beyond == 0, beyond
        link = page.locator("td.statement a").bounding_box()
        assert link is not None and link["x"] + 60 < width
        page = shown.open(f"query.html?{done['id']}")
        assert page.locator("html").evaluate(wide) == 0
        size = page.locator("h1 code").evaluate("e => getComputedStyle(e).fontSize")
        assert size == page.locator("h1").evaluate("e => getComputedStyle(e).fontSize")
        brand, nav = page.locator(".brand").bounding_box(), page.locator("header nav").bounding_box()
        assert brand is not None and nav is not None
        assert (nav["y"] >= brand["y"] + brand["height"]) == (width == 390)
        shown.check_accessible()


@pytest.mark.full("every page in a browser above")
def test_a_server_that_goes_and_comes(browser, fakes):
    with watched(browser, fakes.url) as lost:
        page = lost.open("queries")
        page.context.set_offline(True)
        lost.expected = ("ERR_INTERNET_DISCONNECTED",)
        page.locator("text=The server does not answer").wait_for()
        page.context.set_offline(False)
        page.locator("#fresh:empty").wait_for(state="attached")


def test_logging_in_and_out(browser, start_server):
    control = OwnQueries()
    settings = ServerSettings(
        shutdown_grace_period=0.0,
        process_forwarded=True,
        authentication=Authentication((Words(),), control, forms=frozenset({"password"})),
        access_control=control,
    )
    proxied = {"X-Forwarded-Proto": "https"}
    with start_server(server_settings=settings) as server:
        mine, theirs = (server.post("SELECT 1", as_(user)).json()["id"] for user in ("alice", "bob"))
        with watched(browser, server.url, extra_http_headers=proxied) as entry:
            entry.expected = ("status of 401", "status of 403")
            page = entry.open(f"query.html?{mine}")
            entry.check_accessible()
            page.fill("input[name=user]", "alice")
            page.fill("input[name=password]", "wrong")
            page.click("button.main")
            assert "Invalid credentials" in page.locator("[role=alert]").inner_text()
            entry.open(f"query.html?{mine}")
            page.fill("input[name=user]", "alice")
            page.fill("input[name=password]", "alice")
            page.click("button.main")
            assert page.locator("h1").inner_text() == mine
            entry.open("queries")
            assert page.locator(f'a[href="query.html?{theirs}"]').count() == 0
            entry.open(f"query.html?{theirs}")
            assert "Cannot view query" in page.locator("main").inner_text()
            page.click("text=Log out")
            assert "You are logged out" in page.locator("main").inner_text()
            entry.open("queries")
            assert page.url.endswith("/ui/login?next=queries")
