"""This coordinator as one of several: made from the configuration, where ``state.url`` names their database."""

from __future__ import annotations

import asyncio
import socket
import ssl
from collections.abc import AsyncIterator, Callable
from contextlib import AbstractAsyncContextManager, asynccontextmanager, suppress
from ipaddress import ip_address
from urllib.parse import urlsplit

import aiohttp
import msgspec
from sqlalchemy.exc import SQLAlchemyError

from coordinator.cluster.catalogs import SharedCatalogs
from coordinator.cluster.group_shares import GroupShares
from coordinator.cluster.logins import SharedLogins
from coordinator.cluster.membership import Membership
from coordinator.cluster.slot_sharing import SharedSlots
from coordinator.cluster.store import ClusterStore, Node
from coordinator.cluster.work import ClusterWork
from coordinator.config import CoordinatorConfig
from coordinator.connectors.system.runtime import NodeState, QueryState
from coordinator.resource_groups.manager import ResourceGroups
from coordinator.server.owner_forwarding import QueryOwners
from coordinator.server.peer_queries import PEER_CATALOGS, PEER_QUERIES
from coordinator.server.peers import PeerTokens
from coordinator.server.settings import Cluster
from coordinator.values.settings_files import find_file
from shared.errors import ErrorCode, ProcessionError
from shared.ids import new_suffix
from shared.properties import ConfigurationError
from shared.spi.access_control import AccessDeniedError, Identity, identity_of_session
from shared.spi.session import Session

_KILL_SECONDS = 20.0
_LIST_SECONDS = 5.0
_TERMS = 3
"""Heartbeats that may be lost before a coordinator is taken for gone, at least."""


class Clustering:
    """``membership`` of this coordinator; ``tokens`` by which its requests are known; ``work`` that all share."""

    def __init__(
        self, membership: Membership, tokens: PeerTokens, tls: ssl.SSLContext | None, work: ClusterWork
    ) -> None:
        self.membership, self.tokens, self._tls, self.work = membership, tokens, tls, work
        self._owners: QueryOwners | None = None
        self._loop: asyncio.AbstractEventLoop | None = None

    def cluster(self, is_known: Callable[[str], bool], look_at_catalogs: Callable[[], None]) -> Cluster:
        """What the server needs of it; ``is_known``: whether it has a query of an id."""
        self._owners = QueryOwners(self.membership, self.tokens, is_known, self._tls)
        return Cluster(self.tokens, self._owners, self._claim, look_at_catalogs)

    @asynccontextmanager
    async def joined(self) -> AsyncIterator[None]:
        """A member of the cluster meanwhile. Raises ConfigurationError."""
        self._loop = asyncio.get_running_loop()
        await asyncio.to_thread(self.membership.join)
        try:
            yield
        finally:
            await asyncio.to_thread(self.membership.leave)

    def logins(self) -> SharedLogins:
        """Logins under way, of all coordinators."""
        return SharedLogins(self.work.engine, self.tokens.secret)

    def catalogs(self) -> SharedCatalogs:
        """Those that statements made, of all coordinators."""
        return SharedCatalogs(self.work.engine, self.tokens.secret)

    def tell_of_catalogs(self) -> None:
        """Wait until the other coordinators have looked for catalogs, for seconds at most; they look again anyway."""
        if self._owners is None or self._loop is None:
            return
        asked = self._owners.everywhere(PEER_CATALOGS, Identity("", None), "")
        with suppress(TimeoutError):
            asyncio.run_coroutine_threadsafe(asked, self._loop).result(_LIST_SECONDS)

    def sharing(self, groups: ResourceGroups, interval: float) -> AbstractAsyncContextManager[None]:
        """The limits of resource groups are those of all coordinators meanwhile."""
        shares = GroupShares(self.work.engine, self.work.owner)
        return SharedSlots(groups, shares.exchange, lambda: len(self.membership.nodes), interval).running()

    def kill(self, session: Session, query_id: str, message: str) -> bool | None:
        """End another coordinator's query, see ``RuntimeState.kill``; blocks, and not the event loop."""
        if self._owners is None or self._loop is None:
            return None
        asked = self._owners.kill(query_id, message, identity_of_session(session))
        try:
            status = asyncio.run_coroutine_threadsafe(asked, self._loop).result(_KILL_SECONDS)
        except (aiohttp.ClientError, TimeoutError, OSError) as error:
            problem = f"The coordinator of query {query_id} cannot be reached"
            raise ProcessionError(ErrorCode.REMOTE_HOST_GONE, problem, retriable=True) from error
        match status:
            case 200:
                return True
            case 403:
                raise AccessDeniedError("Cannot kill query")
            case 409:
                return False
            case _:
                return None

    def queries(self, session: Session) -> list[QueryState]:
        """Of the other coordinators that answer; blocks, and not the event loop."""
        if self._owners is None or self._loop is None:
            return []
        asked = self._owners.everywhere(PEER_QUERIES, identity_of_session(session), "")
        try:
            found = asyncio.run_coroutine_threadsafe(asked, self._loop).result(_LIST_SECONDS)
        except TimeoutError:
            return []
        return [query for body in found.answers.values() for query in _decoded(body)]

    def others(self) -> list[NodeState]:
        """The coordinators beside this one that live."""
        return [NodeState(n.node_id, n.address, n.version, "active") for n in self.membership.others()]

    def maintains(self) -> bool:
        """Whether it is this coordinator that looks after tables."""
        return self.membership.holds("maintenance")

    def status(self) -> dict[str, object]:
        """For ``/v1/status``."""
        found = self.membership
        return {"connected": found.connected, "coordinators": sorted(node.node_id for node in found.nodes)}

    def _claim(self, query_id: str) -> bool:
        try:
            return self.membership.take(query_id) == self.tokens.suffix
        except SQLAlchemyError as error:
            message = "The database of the coordinators cannot be reached; try again"
            raise ProcessionError(ErrorCode.SERVER_STARTING_UP, message, retriable=True) from error


def _decoded(body: bytes) -> list[QueryState]:
    """Nothing of what a coordinator of another version says otherwise."""
    try:
        return msgspec.json.decode(body, type=list[QueryState])
    except msgspec.DecodeError:
        return []


def load_clustering(
    config: CoordinatorConfig, address: str, version: str, settle: Callable[[str, str], None]
) -> Clustering | None:
    """None for a coordinator alone. ``address`` is where it listens; ``settle`` is told of coordinators that ended.

    Raises ConfigurationError.
    """
    settings = config.cluster
    if settings.state_url is None:
        return None
    secret = config.internal.shared_secret
    if secret is None:
        raise ConfigurationError("state.url needs internal-communication.shared-secret, the same of all coordinators")
    if settings.node_timeout < _TERMS * settings.heartbeat_interval:
        raise ConfigurationError("cluster.node-timeout is less than three times cluster.heartbeat-interval")
    me = Node(new_suffix(), config.node.node_id, _reached_at(address, config.node.internal_address), version)
    store = ClusterStore(settings.state_url)
    membership = Membership(
        store,
        me,
        interval=settings.heartbeat_interval,
        term=settings.node_timeout,
        gone=lambda node: settle(node.node_id, node.suffix),
    )
    work = ClusterWork(store.engine, me.suffix, settings.recovery_delay)
    return Clustering(membership, PeerTokens(me.suffix, secret), _tls(config), work)


def _reached_at(address: str, internal: str | None) -> str:
    parts = urlsplit(address)
    host = internal or parts.hostname or ""
    try:
        everywhere = internal is None and ip_address(host).is_unspecified
    except ValueError:
        everywhere = False
    name = socket.getfqdn() if everywhere else host
    return f"{parts.scheme}://{f'[{name}]' if ':' in name and not name.startswith('[') else name}:{parts.port}"


def _tls(config: CoordinatorConfig) -> ssl.SSLContext | None:
    trusted = config.internal.trust_store
    if trusted is None:
        return None
    return ssl.create_default_context(cafile=find_file(config.etc, trusted, config.etc / "config.properties"))
