"""Properties of etc/config.properties for several coordinators."""

from __future__ import annotations

from pydantic import Field

from coordinator.values.settings import Seconds, Settings


class ClusterSettings(Settings):
    """Properties of etc/config.properties."""

    state_url: str | None = Field(
        None,
        alias="state.url",
        description="PostgreSQL database that several coordinators share, as `postgresql://user:password@host/database`;"
        " without it there is one coordinator (docs/several-coordinators.md). It needs"
        " `internal-communication.shared-secret`.",
    )
    heartbeat_interval: Seconds = Field(
        2.0,
        alias="cluster.heartbeat-interval",
        gt=0,
        description="How often a coordinator says that it lives, and looks for the others.",
    )
    node_timeout: Seconds = Field(
        15.0,
        alias="cluster.node-timeout",
        gt=0,
        description="A coordinator that has said nothing for this long is taken for gone; at least three times the"
        " interval.",
    )
    recovery_delay: Seconds = Field(
        10.0,
        alias="cluster.recovery-delay",
        ge=0,
        description="How long after a coordinator was taken for gone another one finishes or undoes what it left open:"
        " longer than the longest call of a catalog takes.",
    )
