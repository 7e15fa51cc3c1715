"""Polls and plain POSTs go past FastAPI; whatever else they may be still reaches it."""

from __future__ import annotations

import fastapi.routing
import pytest

from tests.protocol.conftest import Server
from tests.protocol.test_authentication import routes


def test_what_is_common_is_not_read_by_fastapi(server: Server, monkeypatch: pytest.MonkeyPatch) -> None:
    seen = list[str]()
    original = vars(fastapi.routing)["solve_dependencies"]

    async def noted(**arguments: object) -> object:
        seen.append(str(arguments["request"].url.path))  # type: ignore[attr-defined]
        return await original(**arguments)

    monkeypatch.setattr(fastapi.routing, "solve_dependencies", noted)
    pages = server.pages("SELECT 1")
    assert pages[-1].json()["stats"]["state"] == "FINISHED"
    assert seen == []
    answer = server.client.post("/v1/statement?binaryResults=false", content="SELECT 1", headers={"X-Presto-User": "u"})
    assert (answer.status_code, seen) == (200, ["/v1/statement"])


@pytest.mark.parametrize(
    ("method", "path", "status"),
    [
        ("POST", "/v1/statement?binaryResults=maybe", 400),
        ("POST", "/v1/statement?retryUrl=http://x", 400),
        ("GET", "/v1/statement/queued/retry/nothing", 404),
        ("GET", "/v1/statement/queued/nothing/0", 404),
        ("HEAD", "/v1/statement/queued/nothing/0", 404),
        ("GET", "/v1/statement/executing/a/b/c", 404),
        ("PATCH", "/v1/statement/queued/nothing/0", 405),
        ("PATCH", "/v1/statement", 405),
        ("GET", "/v1/statement", 405),
    ],
)
def test_other_requests_are_answered_as_before(server: Server, method: str, path: str, status: int) -> None:
    answer = server.client.request(method, path, content="SELECT 1", headers={"X-Presto-User": "u"})
    assert answer.status_code == status, answer.text


def test_the_last_of_repeated_parameters_counts(server: Server) -> None:
    posted = server.post("SELECT 1").json()
    good = posted["nextUri"]
    assert server.client.get(f"{good}&slug=wrong").status_code == 404
    assert server.client.get(good.replace("?slug=", "?slug=wrong&slug=")).status_code == 200
    assert server.client.get(f"{good}&maxWait=soon").status_code == 400


def test_they_are_documented(server: Server) -> None:
    page = "/v1/statement/{kind}/{query_id}/{token}"
    assert {("POST", "/v1/statement"), ("GET", page), ("HEAD", page), ("DELETE", page)} <= routes(server.app)
