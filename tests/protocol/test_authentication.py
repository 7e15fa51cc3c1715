"""With authentication, no path but those of load balancers answers a stranger, and nobody reaches another's queries."""

from __future__ import annotations

import warnings
from base64 import b64encode

import pytest

from coordinator.dispatch.access import admitted
from coordinator.security.access_control.built_in import AllowAll, OwnQueries
from coordinator.security.authentication.authentication import Authentication
from coordinator.security.authentication.authenticator import Authenticated, AuthenticationError, Credentials
from coordinator.server.settings import ServerSettings
from shared.spi.access_control import AccessDeniedError

HTTPS = {"X-Forwarded-Proto": "https"}
OPEN = {"/v1/info", "/v1/info/state", "/v1/info/coordinator", "/v1/info/stats", "/v1/status"}

SEGMENTS = {"/v1/spooled/download/{query_id}/{secret}", "/v1/spooled/ack/{query_id}/{secret}"}
"""What clients of Trino's fetch without saying who they are, by a secret."""

LOGIN = {"/ui/login", "/ui/static/{name}"}
"""What browsers need to log in; it tells nothing."""


class Words:
    """Whoever has a password that is their name."""

    async def authenticate(self, credentials: Credentials) -> Authenticated:
        given = credentials.basic()
        if given is None or given[0] != given[1]:
            raise AuthenticationError("Access Denied: Invalid credentials" if given else "", 'Basic realm="Presto"')
        return Authenticated(f"{given[0]}@lake", given[0])


def as_(user: str, password: str | None = None) -> dict[str, str]:
    text = b64encode(f"{user}:{user if password is None else password}".encode()).decode()
    return HTTPS | {"Authorization": f"Basic {text}", "X-Presto-User": user}


def secured(control=None, **options):
    control = control or OwnQueries()
    return ServerSettings(
        shutdown_grace_period=0.0,
        process_forwarded=True,
        authentication=Authentication((Words(),), control, **options),
        access_control=control,
    )


@pytest.fixture(scope="module")
def guarded():
    from tests.protocol.conftest import running_server

    with running_server(server_settings=secured()) as server:
        yield server


def routes(app) -> set[tuple[str, str]]:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # of routes that answer GET and HEAD
        paths = app.openapi()["paths"]
    return {(method.upper(), path) for path, methods in paths.items() for method in methods}


def test_every_path_asks_who_it_is(guarded):
    app = guarded.app
    asked = routes(app) | {("GET", "/nowhere"), ("GET", "/v1/info/"), ("GET", "//v1/info"), ("POST", "/v1/info")}
    assert len(asked) > 20
    for method, path in sorted(asked):
        for headers in (HTTPS, HTTPS | {"X-Presto-User": "alice"}, as_("alice", "wrong")):
            url = path.format(query_id="x", kind="queued", token="0", group_id="x", name="style.css", secret="x")
            answer = guarded.client.request(method, url, headers=headers)
            if path in OPEN and method in ("GET", "HEAD"):
                assert answer.status_code == 200, path
            elif path in SEGMENTS:
                assert answer.status_code == 404, path
            elif path in LOGIN:
                assert answer.status_code == (200 if method == "GET" else 400), path
            else:
                assert answer.status_code == 401, (method, path)
                assert answer.headers["www-authenticate"] == 'Basic realm="Presto"'


def test_plain_http_is_refused(guarded):
    headers = as_("alice")
    del headers["X-Forwarded-Proto"]
    answer = guarded.post("SELECT 1", headers)
    assert (answer.status_code, answer.text) == (403, "Authentication over HTTP is not enabled")


def test_a_forwarded_scheme_counts_only_with_the_setting(start_server):
    settings = ServerSettings(authentication=Authentication((Words(),), OwnQueries()))
    with start_server(server_settings=settings) as server:
        assert server.post("SELECT 1", as_("alice")).status_code == 403


def test_the_identity_is_the_authenticated_one(guarded):
    pages = [guarded.post("SELECT 1", as_("alice"))]
    while "nextUri" in pages[-1].json():
        uri = pages[-1].json()["nextUri"].replace("https://", "http://")
        pages.append(guarded.client.get(uri, headers=as_("alice")))
        assert pages[-1].status_code == 200, pages[-1].text
    session = guarded.planner.sessions[-1]
    assert (session.user, session.principal) == ("alice", "alice@lake")
    unnamed = {name: value for name, value in as_("alice").items() if name != "X-Presto-User"}
    named = unnamed | {"X-Presto-User": "alice@lake"}
    for headers in (unnamed, named, unnamed | {"X-Trino-User": "alice"}):
        query_id = guarded.post("SELECT 1", headers).json()["id"]
        assert guarded.dispatcher.registry.get(query_id).session.user == "alice"


def test_nobody_acts_as_another(guarded):
    for header in ("X-Presto-User", "X-Trino-User"):
        headers = {name: value for name, value in as_("alice").items() if name != "X-Presto-User"} | {header: "bob"}
        answer = guarded.post("SELECT 1", headers)
        assert (answer.status_code, answer.text) == (
            403,
            "Access Denied: Principal alice@lake cannot become user bob",
        )


@pytest.mark.slow
def test_a_slug_is_of_no_use_to_others(guarded):
    page = guarded.post("SELECT slow", as_("alice")).json()
    uri = page["nextUri"].replace("https://", "http://")
    for headers in (HTTPS, as_("bob")):
        for method in ("GET", "DELETE"):
            assert guarded.client.request(method, uri, headers=headers).status_code in (401, 404)
    assert guarded.client.get(uri, headers=as_("alice")).status_code == 200
    assert guarded.client.delete(uri, headers=as_("alice")).status_code == 204


def test_queries_of_others_are_neither_seen_nor_ended(guarded):
    mine = guarded.post("SELECT slow", as_("alice")).json()["id"]
    theirs = guarded.post("SELECT slow", as_("bob")).json()["id"]
    get = guarded.client.get
    for path in ("/v1/query", "/ui/"):
        text = get(path, headers=as_("alice")).text
        assert mine in text
        assert theirs not in text
    assert theirs not in get("/v1/queryState", headers=as_("alice")).text
    for path in (f"/v1/query/{theirs}", f"/ui/query.html?{theirs}"):
        answer = get(path, headers=as_("alice"))
        assert (answer.status_code, answer.text) == (403, "Access Denied: Cannot view query")
    for method, path in (("DELETE", ""), ("PUT", "/killed"), ("PUT", "/preempted")):
        answer = guarded.client.request(method, f"/v1/query/{theirs}{path}", headers=as_("alice"))
        assert (answer.status_code, answer.text) == (403, "Access Denied: Cannot kill query")
    assert not guarded.dispatcher.registry.get(theirs).state.done
    assert guarded.client.delete(f"/v1/query/{mine}", headers=as_("alice")).status_code == 204
    assert guarded.client.delete(f"/v1/query/{theirs}", headers=as_("bob")).status_code == 204


def test_the_node_is_not_ended_by_users(guarded):
    answer = guarded.client.put("/v1/info/state", content='"SHUTTING_DOWN"', headers=as_("alice"))
    assert (answer.status_code, answer.text) == (403, "Access Denied: Cannot write system information")
    assert guarded.client.get("/metrics", headers=as_("alice")).status_code == 200


def test_another_does_not_run_a_failed_query_again(guarded):
    page = guarded.post("SELECT 1/0", as_("alice")).json()
    query_id = page["id"]
    while "nextUri" in page:
        page = guarded.client.get(page["nextUri"].replace("https://", "http://"), headers=as_("alice")).json()
    query = guarded.dispatcher.registry.get(query_id)
    path = f"/v1/statement/queued/retry/{query_id}"
    for parameters in ({}, {"slug": query.slug}):
        assert guarded.client.get(path, headers=as_("bob"), params=parameters).status_code == 404
    by_a_page = {name: value for name, value in as_("alice").items() if name != "X-Presto-User"}
    assert guarded.client.get(path, headers=by_a_page).status_code == 404
    assert guarded.client.get(path, headers=as_("alice")).status_code == 200
    assert guarded.client.get(path, headers=by_a_page, params={"slug": query.slug}).status_code == 200


class Strict(AllowAll):
    def check_can_execute_query(self, identity):
        if identity.user == "mallory":
            raise AccessDeniedError("Cannot execute query")

    def check_can_set_system_session_property(self, identity, name):
        if name == "a":
            raise AccessDeniedError(f"Cannot set system session property {name}")

    def check_can_set_catalog_session_property(self, identity, catalog, name):
        raise AccessDeniedError(f"Cannot set catalog session property {catalog}.{name}")

    def check_can_read_system_information(self, identity):
        raise AccessDeniedError("Cannot read system information")


def test_what_a_statement_may_not_do_is_its_failure(start_server):
    """Rules count without authentication, too, for whom the client says it is."""
    with start_server(
        server_settings=ServerSettings(access_control=Strict(), admit=lambda s: admitted(Strict(), s, ("c",)))
    ) as server:
        for headers, problem in (
            ({"X-Presto-User": "mallory"}, "Cannot execute query"),
            ({"X-Presto-User": "bob", "X-Presto-Session": "b=1,a=1"}, "Cannot set system session property a"),
            ({"X-Presto-User": "bob", "X-Presto-Session": "c.a=1"}, "Cannot set catalog session property c.a"),
        ):
            error = server.pages("SELECT 1", headers)[-1].json()["error"]
            assert (error["errorName"], error["errorCode"]) == ("PERMISSION_DENIED", 4)
            assert error["message"] == f"Access Denied: {problem}"
        assert "error" not in server.pages("SELECT 1", {"X-Presto-User": "bob", "X-Presto-Session": "b=1"})[-1].json()
        assert server.client.get("/metrics").status_code == 403
