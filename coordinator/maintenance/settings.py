"""Settings of the maintenance service, from ``etc/maintenance.properties``."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

from pydantic import BeforeValidator, Field

from coordinator.maintenance.windows import Window, parse_windows
from coordinator.values.settings import Bytes, Names, Seconds, Settings
from shared.spi.session import Session

Windows = Annotated[
    tuple[Window, ...], BeforeValidator(lambda value: parse_windows(value) if isinstance(value, str) else value)
]


def _roles(value: object) -> object:
    """As clients send them: ALL, NONE or ROLE{name} by catalog."""
    if not isinstance(value, str):
        return value
    found: dict[str, str] = {}
    for part in filter(None, (each.strip() for each in value.split(","))):
        catalog, _, role = (each.strip() for each in part.partition("="))
        if not catalog or not role or catalog.lower() in found or set(role) & set("{}"):
            raise ValueError(f"{part} is no catalog=role of a catalog of its own")
        found[catalog.lower()] = role if role in ("ALL", "NONE") else f"ROLE{{{role}}}"
    return tuple(found.items())


Roles = Annotated[tuple[tuple[str, str], ...], BeforeValidator(_roles)]


class MaintenanceSettings(Settings):
    """etc/maintenance.properties"""

    enabled: bool = Field(False, alias="maintenance.enabled", description="Look after tables.")
    dry_run: bool = Field(
        True,
        alias="maintenance.dry-run",
        description="Only decide, and say in system.maintenance.decisions what would be done and why.",
    )
    policies: Path | None = Field(
        None,
        alias="maintenance.policy-file",
        description="JSON file with policies for catalogs, schemas and tables; a relative path starts above etc.",
    )
    catalog_policies: bool = Field(
        True,
        alias="maintenance.catalog-policies",
        description="Follow the policies that a REST catalog's server keeps, as Apache Polaris does.",
    )
    catalogs: Names = Field(
        (), alias="maintenance.catalogs", description="The catalogs whose tables are looked after; all without it."
    )
    scan_interval: Seconds = Field(
        300.0, alias="maintenance.scan-interval", gt=0, description="Time between two rounds over all tables."
    )
    unchanged_interval: Seconds = Field(
        21600.0,
        alias="maintenance.unchanged-interval",
        gt=0,
        description="After this time a table is looked at again though nothing changed it: snapshots grow old.",
    )
    commit_delay: Seconds = Field(
        30.0,
        alias="maintenance.commit-delay",
        ge=0,
        description="How long after a statement of this coordinator changed a table, or another program was seen to"
        " have changed it, it is looked at; at most once in this time, and all tables together for a tenth of the time."
        " 0 leaves it to the rounds.",
    )
    check_interval: Seconds = Field(
        10.0,
        alias="maintenance.commit-check-interval",
        ge=0,
        description="How often catalogs that can be asked cheaply are asked which tables other programs changed: SQL"
        " catalogs, metastores, and REST servers with ETags. 0 leaves it to the rounds.",
    )
    max_jobs: int = Field(
        2, alias="maintenance.max-concurrent-jobs", ge=1, le=64, description="How many tables are worked on at once."
    )
    max_per_catalog: int = Field(
        1, alias="maintenance.max-per-catalog", ge=1, le=64, description="How many of these in one catalog."
    )
    user: str = Field(
        "maintenance",
        alias="maintenance.user",
        min_length=1,
        description="The user as whom procedures are called; access control and resource groups know them by it.",
    )
    roles: Roles = Field(
        (),
        alias="maintenance.roles",
        description="The roles that this user takes on, by catalog, such as `iceberg=compactor, sales=ALL`; `ALL` is"
        " each but `admin`, which is what counts without it, and `NONE` no role.",
    )
    source: str = Field(
        "procession-maintenance",
        alias="maintenance.source",
        min_length=1,
        description="The source that selectors of resource groups see.",
    )
    window: Windows = Field(
        (),
        alias="maintenance.window",
        description="When jobs may run, such as `Mon-Fri 22:00-05:00 Europe/Berlin; Sat-Sun 00:00-24:00"
        " Europe/Berlin`; always without it.",
    )
    window_grace: Seconds = Field(
        300.0,
        alias="maintenance.window-grace",
        ge=0,
        description="How much longer than the window a rewrite may take for the commit that it has begun. It begins no"
        " other one once the window has closed.",
    )
    stand_back: bool = Field(
        True,
        alias="maintenance.stand-back",
        description="Start nothing while statements of users wait in a queue.",
    )
    job_bytes: Bytes = Field(
        10 << 30,
        alias="maintenance.max-bytes-per-job",
        gt=0,
        description="Most bytes that one call rewrites; what is left is for the next one.",
    )
    bytes_per_day: Bytes | None = Field(
        None, alias="maintenance.budget.bytes-per-day", gt=0, description="Most bytes rewritten in 24 hours."
    )
    seconds_per_day: Seconds | None = Field(
        None, alias="maintenance.budget.seconds-per-day", gt=0, description="Most seconds of work in 24 hours."
    )
    bytes_per_table: Bytes | None = Field(
        None,
        alias="maintenance.budget.bytes-per-table-per-day",
        gt=0,
        description="Most bytes of one table that are rewritten in 24 hours.",
    )
    seconds_per_run: Seconds | None = Field(
        None,
        alias="maintenance.budget.seconds-per-run",
        gt=0,
        description="Most seconds that one table is worked on without a break.",
    )
    horizon_days: float = Field(
        7.0,
        alias="maintenance.horizon-days",
        gt=0,
        description="A rewrite pays if it saves as much time within so many days as it takes.",
    )
    keep_days: int = Field(
        30, alias="maintenance.history-days", ge=1, description="How long decisions and jobs are kept."
    )

    def own(self, session: Session) -> bool:
        """Whether a statement is the service's: anybody may claim its source, but not its user."""
        return (session.user, session.source) == (self.user, self.source)
