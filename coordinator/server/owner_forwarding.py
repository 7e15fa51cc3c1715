"""Requests about a query go to the coordinator that runs it, wherever a load balancer sent them.

The owner is told by the end of the query's id; ids that clients made are looked up. One hop: what comes from another
coordinator is answered here. An owner that cannot be reached is a 503, which clients try again; one that has ended is
told as such, since its queries ended with it. New statements at a coordinator that takes none go to one that does.
"""

from __future__ import annotations

import asyncio
import random
import re
import ssl
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Protocol

import aiohttp
import structlog
from fastapi import Request
from starlette.responses import Response
from starlette.types import ASGIApp, Message, Receive, Scope, Send
from yarl import URL

from coordinator.dispatch.failures import wire_failure
from coordinator.server.authentication import authenticated_identity
from coordinator.server.media_types import wanted_stream
from coordinator.server.peers import PeerTokens, request_line
from coordinator.server.problems import ProblemError, text_response
from coordinator.server.uris import uris_of
from shared.errors import ErrorCode, ProcessionError
from shared.protocol.headers import USER, header_name
from shared.protocol.internal_authentication import BEARER_HEADER
from shared.protocol.statement import QueryResults, Stats, encode_results
from shared.spi.access_control import Identity

_log = structlog.get_logger(__name__)
_PATHS = re.compile(
    r"/v1/statement/(?:queued/retry/|partial/|(?P<kind>queued|executing)/)?(?P<one>[_a-z0-9]{1,64})(?:/\d+)?"
    r"|/v1/query/(?P<two>[_a-z0-9]{1,64})(?:/\w+)?"
    r"|/v1/spooled/(?:download|ack)/(?P<three>[_a-z0-9]{1,64})/[\w-]{1,64}"
    r"|/ui/[\w./-]*"
)
_OURS = re.compile(r"\d{8}_\d{6}_\d{5}_([a-z0-9]{5})(?![_a-z0-9])")
_CONNECT_SECONDS = 2.0
_ANSWER_SECONDS = 15.0
"""More than the longest poll, also on a busy machine."""
_MAX_BODY = 8 << 20
"""Twice the longest statement."""
_LOOKUPS = 4
_LIST_SECONDS = 3.0
_MAX_LIST = 16 << 20
CUT_HEADER = "X-Procession-Cut"
"""In a list for another coordinator: how many of its oldest entries are missing, which would make it too long."""
_MOST_ASKED = 32
"""Coordinators whose lists are put together."""
DRAINING_HEADER = "X-Procession-Draining"
_KEEP_ALIVE_SECONDS = 4.0
"""Below the five seconds after which the other's server drops an idle connection."""
_OF_A_CONNECTION = frozenset(
    {b"connection", b"keep-alive", b"proxy-authenticate", b"te", b"trailer", b"transfer-encoding", b"upgrade"}
)
_NOT_PASSED = _OF_A_CONNECTION | {
    b"authorization",
    b"cookie",
    b"proxy-authorization",
    b"content-length",
    b"expect",
    BEARER_HEADER.lower().encode(),
}
"""Also credentials: the owner is told whose they are."""


class Peer(Protocol):
    @property
    def suffix(self) -> str: ...

    @property
    def node_id(self) -> str: ...

    @property
    def address(self) -> str: ...

    @property
    def alive(self) -> bool: ...


class Peers(Protocol):
    """The other coordinators; ``look_again`` and ``placed`` block."""

    def peer(self, suffix: str) -> Peer | None: ...

    def look_again(self, suffix: str) -> Peer | None: ...

    def placed(self, query_id: str) -> Peer | None: ...

    def others(self) -> Sequence[Peer]:
        """Those that live, beside this one."""
        ...


@dataclass(frozen=True, slots=True)
class QueryRequest:
    """The query that a path names; ``poll`` for a page of its results."""

    query_id: str
    suffix: str | None
    poll: bool


def query_of(path: str, query: str) -> QueryRequest | None:
    """Which query a request is about, if any.

    >>> query_of("/v1/statement/queued/20261123_165727_00020_b6a5v/1", "slug=x").suffix
    'b6a5v'
    """
    found = _PATHS.fullmatch(path)
    if found is None:
        return None
    named = found["one"] or found["two"] or found["three"]
    ours = _OURS.search(named or f"{path}?{query}")
    if named is None and ours is None:
        return None
    return QueryRequest(named or (ours[0] if ours else ""), ours[1] if ours else None, found["kind"] is not None)


@dataclass(frozen=True, slots=True)
class Everywhere:
    """What other coordinators answered, by their ``node.id``; ``silent`` are those that did not.

    ``cut`` are those whose answers are not all that they have.
    """

    answers: Mapping[str, bytes]
    silent: tuple[str, ...] = ()
    cut: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class _List:
    body: bytes
    cut: bool


class QueryOwners:
    """Finds the owner of a query and asks it. Belongs to one event loop; ``aclose`` closes its connections."""

    def __init__(
        self, peers: Peers, tokens: PeerTokens, is_known: Callable[[str], bool], tls: ssl.SSLContext | None = None
    ) -> None:
        """``is_known``: whether this coordinator has a query of the id. ``tls`` for peers at https addresses."""
        self._peers, self._tokens, self._is_known, self._tls = peers, tokens, is_known, tls
        self._client: aiohttp.ClientSession | None = None
        self._lookups = asyncio.Semaphore(_LOOKUPS)

    async def owner(self, about: QueryRequest) -> Peer | None:
        """Another coordinator whose query it is."""
        if self._is_known(about.query_id) or about.suffix == self._tokens.suffix:
            return None
        found = None if about.suffix is None else self._peers.peer(about.suffix)
        if found is not None:
            return found
        async with self._lookups:
            return await asyncio.to_thread(self._looked_up, about)

    async def ask(self, owner: Peer, about: QueryRequest, request: Request, send: Send) -> None:
        """Send the request on and its answer back. Raises ProblemError for a request that is wrong in itself."""
        if await self._passed_on(owner, request, await _body(request), send):
            return
        now = await asyncio.to_thread(self._peers.look_again, owner.suffix) or owner
        await _without(now, about, request)(request.scope, request.receive, send)

    async def submit(self, request: Request, body: bytes, send: Send) -> bool:
        """Give a new statement to the first of the others that takes it; whether one did. Raises ProblemError."""
        others = list(self._peers.others())
        random.shuffle(others)
        for other in others:
            if await self._passed_on(other, request, body, send):
                return True
        return False

    async def _passed_on(self, peer: Peer, request: Request, body: bytes, send: Send) -> bool:
        scope, base = request.scope, uris_of(request).base
        token = self._tokens.sign(peer.suffix, scope, base, authenticated_identity(request))
        passed = [(n.decode("latin-1"), v.decode("latin-1")) for n, v in scope["headers"] if n not in _NOT_PASSED]
        method, target = request_line(scope).split(" ", 1)
        begun = False
        try:
            async with self._connected().request(
                method,
                URL(peer.address + target, encoded=True),
                headers=[*passed, (BEARER_HEADER, token)],
                data=body or None,
                allow_redirects=False,
            ) as found:
                if found.status == 401:
                    _log.error("another coordinator refuses our token: secrets or clocks differ", node=peer.node_id)
                elif found.headers.get(DRAINING_HEADER) is None:
                    begun = True
                    await _send_on(found, send)
                    return True
        except (aiohttp.ClientError, TimeoutError, OSError) as error:
            if begun:  # what was promised cannot be sent: the connection is closed, and clients ask again
                raise
            _log.warning("another coordinator cannot be reached", node=peer.node_id, reason=repr(error))
        return False

    async def kill(self, query_id: str, message: str, identity: Identity) -> int | None:
        """The status with which the owner of a query answers to ending it; None where no other coordinator has it.

        Raises aiohttp.ClientError, TimeoutError and OSError.
        """
        path = f"/v1/query/{query_id}/killed"
        about = query_of(path, "")
        owner = None if about is None else await self.owner(about)
        if owner is None:
            return None
        scope = {"method": "PUT", "path": path, "raw_path": path.encode(), "query_string": b""}
        headers = {BEARER_HEADER: self._tokens.sign(owner.suffix, scope, owner.address, identity)}
        headers[header_name("Presto", USER)] = identity.user
        async with self._connected().put(owner.address + path, data=message.encode(), headers=headers) as found:
            return found.status

    async def everywhere(self, target: str, identity: Identity, base: str) -> Everywhere:
        """What each of the others answers to a GET of ``target``, asked at once and waited for a few seconds.

        ``base`` is the address that the client asked.
        """
        others = list(self._peers.others())[:_MOST_ASKED]
        found = await asyncio.gather(*(self._list_of(other, target, identity, base) for other in others))
        lists = {other.node_id: each for other, each in zip(others, found, strict=True) if each is not None}
        return Everywhere(
            {node: each.body for node, each in lists.items()},
            tuple(other.node_id for other in others if other.node_id not in lists),
            tuple(node for node, each in lists.items() if each.cut),
        )

    async def _list_of(self, peer: Peer, target: str, identity: Identity, base: str) -> _List | None:
        path, _, query = target.partition("?")
        scope = {"method": "GET", "path": path, "raw_path": path.encode(), "query_string": query.encode()}
        headers = {BEARER_HEADER: self._tokens.sign(peer.suffix, scope, base, identity)}
        headers[header_name("Presto", USER)] = identity.user
        try:
            async with (
                asyncio.timeout(_LIST_SECONDS),
                self._connected().get(
                    URL(peer.address + target, encoded=True), headers=headers, allow_redirects=False
                ) as found,
            ):
                kept = bytearray()
                async for part in found.content.iter_any():
                    kept += part
                    if len(kept) > _MAX_LIST:
                        _log.warning("the list of another coordinator is too long", node=peer.node_id)
                        return None
                return _List(bytes(kept), CUT_HEADER in found.headers) if found.status == 200 else None
        except (aiohttp.ClientError, TimeoutError, OSError) as error:
            _log.warning("another coordinator cannot be reached", node=peer.node_id, reason=repr(error))
            return None

    async def aclose(self) -> None:
        client, self._client = self._client, None
        if client is not None:
            await client.close()

    def _looked_up(self, about: QueryRequest) -> Peer | None:
        found = None if about.suffix is None else self._peers.look_again(about.suffix)
        return found or self._peers.placed(about.query_id)

    def _connected(self) -> aiohttp.ClientSession:
        if self._client is None:
            tls = True if self._tls is None else self._tls
            self._client = aiohttp.ClientSession(
                connector=aiohttp.TCPConnector(limit=0, keepalive_timeout=_KEEP_ALIVE_SECONDS, ssl=tls),
                timeout=aiohttp.ClientTimeout(total=None, sock_connect=_CONNECT_SECONDS, sock_read=_ANSWER_SECONDS),
                auto_decompress=False,
                cookie_jar=aiohttp.DummyCookieJar(),
                skip_auto_headers=("Accept", "Accept-Encoding", "User-Agent", "Content-Type"),
            )
        return self._client


class OwnerForwarding:
    """ASGI layer behind authentication: what is about another coordinator's query goes there.

    ``is_draining``: whether this coordinator takes no new statements.
    """

    def __init__(self, app: ASGIApp, owners: QueryOwners, is_draining: Callable[[], bool]) -> None:
        self._app, self._owners, self._is_draining = app, owners, is_draining

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return
        try:
            if not await self._elsewhere(scope, Request(scope, receive), send):
                await self._app(scope, receive, send)
        except ProblemError as error:
            await text_response(error.status, error.text)(scope, receive, send)

    async def _elsewhere(self, scope: Scope, request: Request, send: Send) -> bool:
        from_peer = bool(scope.get("state", {}).get("peer"))
        if scope["method"] == "POST" and scope["path"] == "/v1/statement" and self._is_draining():
            if wanted_stream(request) is not None:
                # Its answer takes as long as the statement: who waits for it in vain might run it twice.
                return False
            if not from_peer:
                body = await _body(request)
                if not await self._owners.submit(request, body, send):
                    await self._app(scope, _again(body, request.receive), send)
                return True
            # One hop: whoever sent it here asks the next one.
            await text_response(503, "Draining", {DRAINING_HEADER: "true"})(scope, request.receive, send)
            return True
        about = None if from_peer else query_of(scope["path"], scope["query_string"].decode("latin-1"))
        owner = None if about is None else await self._owners.owner(about)
        if about is None or owner is None:
            return False
        await self._owners.ask(owner, about, request, send)
        return True


def _again(body: bytes, receive: Receive) -> Receive:
    """A request's messages whose body has been read."""
    messages: list[Message] = [{"type": "http.request", "body": body, "more_body": False}]

    async def replayed() -> Message:
        return messages.pop() if messages else await receive()

    return replayed


async def _body(request: Request) -> bytes:
    kept = bytearray()
    async for part in request.stream():
        kept += part
        if len(kept) > _MAX_BODY:
            raise ProblemError(413, f"Request body exceeds {_MAX_BODY} bytes")
    return bytes(kept)


async def _send_on(found: aiohttp.ClientResponse, send: Send) -> None:
    headers = [(n.lower(), v) for n, v in found.raw_headers if n.lower() not in _OF_A_CONNECTION]
    await send({"type": "http.response.start", "status": found.status, "headers": headers})
    async for part in found.content.iter_any():
        await send({"type": "http.response.body", "body": part, "more_body": True})
    await send({"type": "http.response.body", "body": b""})


def _without(owner: Peer, about: QueryRequest, request: Request) -> Response:
    """What is answered for a coordinator that does not."""
    if owner.alive:
        text = f"The coordinator of query {about.query_id} cannot be reached; try again"
        return text_response(503, text, {"Retry-After": "1"})
    if about.poll and request.method == "DELETE":
        return Response(status_code=204)
    if not about.poll:
        return text_response(410, f"The coordinator of query {about.query_id} has ended")
    error = ProcessionError(
        ErrorCode.REMOTE_HOST_GONE,
        f"The coordinator that ran query {about.query_id} has ended; the statement may be sent again",
        retriable=True,
    )
    page = QueryResults(
        id=about.query_id,
        infoUri=uris_of(request).info(about.query_id),
        stats=Stats(state="FAILED"),
        error=wire_failure(error),
        warnings=(),
    )
    headers = {"X-Content-Type-Options": "nosniff"}
    return Response(encode_results(page), media_type="application/json", headers=headers)
