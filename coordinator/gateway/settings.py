"""Settings of the gateways' endpoints; the composition root maps property names to them."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class GatewaySettings:
    """``rate`` pre-checks a second with a ``burst`` above it, ``max_concurrent`` at the same time.

    The targets name a place for a gateway: where accepted, refused and undecided statements go; an empty one leaves
    the decision to the gateway. ``native_refused_target`` is for accepted ones that native workers could not run.
    """

    max_statement_length: int = 1_000_000
    rate: float = 200.0
    burst: int = 400
    max_concurrent: int = 100
    max_batch: int = 10_000
    max_batch_bytes: int = 32 << 20
    batch_concurrency: int = 8
    accepted_target: str = ""
    refused_target: str = ""
    native_refused_target: str = ""
    undecided_target: str = ""
