"""This coordinator as one of several: made from the configuration, where ``state.url`` names their database."""

from __future__ import annotations

import asyncio
import socket
import ssl
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from dataclasses import dataclass
from ipaddress import ip_address
from urllib.parse import urlsplit

from sqlalchemy.exc import SQLAlchemyError

from coordinator.cluster.membership import Membership
from coordinator.cluster.store import ClusterStore, Node
from coordinator.config import CoordinatorConfig
from coordinator.connectors.system.runtime import NodeState
from coordinator.server.owner_forwarding import QueryOwners
from coordinator.server.peers import PeerTokens
from coordinator.server.settings import Cluster
from coordinator.values.settings_files import find_file
from shared.errors import ErrorCode, ProcessionError
from shared.ids import new_suffix
from shared.properties import ConfigurationError

_TERMS = 3
"""Heartbeats that may be lost before a coordinator is taken for gone, at least."""


@dataclass(frozen=True, slots=True)
class Clustering:
    """``membership`` of this coordinator; ``tokens`` by which its requests are known."""

    membership: Membership
    tokens: PeerTokens
    tls: ssl.SSLContext | None

    def cluster(self, is_known: Callable[[str], bool]) -> Cluster:
        """What the server needs of it; ``is_known``: whether it has a query of an id."""
        owners = QueryOwners(self.membership, self.tokens, is_known, self.tls)
        return Cluster(self.tokens, owners, self._claim)

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
    membership = Membership(
        ClusterStore(settings.state_url),
        me,
        interval=settings.heartbeat_interval,
        term=settings.node_timeout,
        gone=lambda node: settle(node.node_id, node.suffix),
    )
    return Clustering(membership, PeerTokens(me.suffix, secret), _tls(config))


@asynccontextmanager
async def joined(clustering: Clustering | None) -> AsyncIterator[None]:
    """A member of the cluster meanwhile. Raises ConfigurationError."""
    if clustering is None:
        yield
        return
    await asyncio.to_thread(clustering.membership.join)
    try:
        yield
    finally:
        await asyncio.to_thread(clustering.membership.leave)


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
