"""Settings of the HTTP side; the composition root maps Presto's property names to them."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field

from coordinator.history.reader import HistoryReader
from coordinator.security.access_control.audit import audit
from coordinator.security.access_control.built_in import AllowAll
from coordinator.security.authentication.authentication import Authentication
from coordinator.server.authentication import nothing_refused
from coordinator.server.owner_forwarding import QueryOwners
from coordinator.server.peers import PeerTokens
from shared.errors import ProcessionError
from shared.spi.access_control import Identity, SystemAccessControl
from shared.spi.session import Session


def _as_it_is(session: Session) -> Session:
    return session


def nothing_done(_access: str, _subject: str, _identity: Identity) -> None:
    return


@dataclass(frozen=True, slots=True)
class Cluster:
    """``claim``: whether the query of an id that a client made is ours; blocks, raises ProcessionError."""

    tokens: PeerTokens
    owners: QueryOwners
    claim: Callable[[str], bool]
    look_at_catalogs: Callable[[], None] = lambda: None
    """Take over what another coordinator has made or dropped; blocks."""


@dataclass(frozen=True, slots=True)
class ServerSettings:
    """Seconds and bytes.

    ``compression_enabled`` (query-results.compression-enabled): off sends ``Content-Encoding: identity`` with every
    result, so that no proxy compresses either. ``max_request_size`` bounds how much of a body is read at all.
    ``shutdown_grace_period`` (shutdown.grace-period): load balancers notice within it that the node is leaving.
    ``principal_header`` (http-server.authentication.principal-header): in which a trusted proxy names whom it let in.
    ``process_forwarded`` (http-server.process-forwarded): whether ``X-Forwarded-*`` is believed. ``allowed_hosts``
    (http-server.allowed-hosts): names under which this server may be asked; None for all. ``authentication``: who is
    let in, None when nobody has to say who they are; ``access_control``: what they may do to queries and to the node.
    ``admit`` raises ProcessionError for a session that may run nothing, and adds what it may use.
    """

    compression_enabled: bool = True
    compression_threshold: int = 64 << 10
    max_wait: float = 1.0
    default_target_size: int = 1 << 20
    max_target_size: int = 128 << 20
    max_request_size: int = 64 << 20
    initial_max_age: int = 60
    shutdown_grace_period: float = 120.0
    principal_header: str | None = None
    process_forwarded: bool = False
    allowed_hosts: tuple[str, ...] | None = None
    authentication: Authentication | None = None
    access_control: SystemAccessControl = field(default_factory=AllowAll)
    admit: Callable[[Session], Session] = _as_it_is
    denied: Callable[[ProcessionError, Identity | None], None] = audit
    """Told of each refusal to see or end a query, or to ask about the node."""
    done: Callable[[str, str, Identity], None] = nothing_done
    """Told of what somebody did to a query or the node beside statements, and was allowed to."""
    login_refused: Callable[[str, str | None, str | None], None] = nothing_refused
    """Told why somebody was not let in, with the user's name as they gave it and their address."""
    history: HistoryReader | None = None
    admit_blocks: bool = False
    """Whether it asks another service, so that it is called on a thread."""
    cluster: Cluster | None = None
    """The other coordinators, where there are several."""


@dataclass(frozen=True, slots=True)
class NodeInfo:
    """Who this coordinator is, as ``/v1/info`` and ``/v1/status`` say."""

    node_id: str
    version: str
    environment: str
    external_address: str = "127.0.0.1"
    internal_address: str = "127.0.0.1"
