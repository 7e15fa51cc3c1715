"""Settings of the gateways' endpoints."""

from __future__ import annotations

from pydantic import Field

from coordinator.values.settings import Settings

_TARGET = r"[A-Za-z0-9._-]*"


class GatewaySettings(Settings):
    """``burst`` pre-checks go at once above ``rate``. The composition root fills in ``burst`` and

    ``max_statement_length``, which is that of every statement. An empty target leaves the decision to the gateway.
    """

    rate: float = Field(
        200.0,
        alias="precheck.max-requests-per-second",
        gt=0,
        description="How many pre-checks of gateways (docs/gateways.md) are answered per second; more are answered"
        " 429.",
    )
    max_concurrent: int = Field(
        100, alias="precheck.max-concurrent-requests", ge=1, description="How many pre-checks run at the same time."
    )
    accepted_target: str = Field(
        "",
        alias="precheck.accepted-target",
        pattern=_TARGET,
        description="Where gateways send accepted statements: the name of a cluster or routing group.",
    )
    refused_target: str = Field(
        "",
        alias="precheck.refused-target",
        pattern=_TARGET,
        description="Where gateways send refused statements; without it they decide themselves.",
    )
    native_refused_target: str = Field(
        "",
        alias="precheck.native-refused-target",
        pattern=_TARGET,
        description="Where gateways send accepted statements that native workers could not run, if that is elsewhere.",
    )
    undecided_target: str = Field(
        "",
        alias="precheck.undecided-target",
        pattern=_TARGET,
        description="Where gateways send statements that this coordinator cannot judge at the moment.",
    )
    max_statement_length: int = 1_000_000
    burst: int = 400
    max_batch: int = 10_000
    max_batch_bytes: int = 32 << 20
    batch_concurrency: int = 8
