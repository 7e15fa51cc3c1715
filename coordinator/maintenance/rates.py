"""How many bytes a second rewrites get through, measured by those that were done."""

from __future__ import annotations

from collections.abc import Sequence
from statistics import median

from coordinator.maintenance.questions import ASSUMED_RATE, OPEN_SECONDS, START_SECONDS
from coordinator.maintenance.records import MaintenanceJob

REWRITE = "rewrite_data_files"
MOST_JOBS = 20
_LEAST_JOBS = 3
_LEAST_SIZE = 16 << 20
"""What is smaller tells of starting, not of reading and writing."""
_SLOWEST, _FASTEST = ASSUMED_RATE / 30, ASSUMED_RATE * 100
"""Whatever was measured: a machine that was busy once must not stop all work, nor one figure promise miracles."""


def measured_rate(jobs: Sequence[MaintenanceJob]) -> float | None:
    """The median over finished rewrites; None while these are too few."""
    rates = [rate for job in jobs if (rate := _rate(job)) is not None]
    return None if len(rates) < _LEAST_JOBS else min(_FASTEST, max(_SLOWEST, median(rates)))


def _rate(job: MaintenanceJob) -> float | None:
    """Bytes that were read and written a second, beside starting and opening files as the estimate counts them."""
    if job.state != "FINISHED" or job.seconds is None or job.estimated_size < _LEAST_SIZE:
        return None
    beside = START_SECONDS + (job.files_before or 0) * OPEN_SECONDS
    return 2 * job.estimated_size / max(job.seconds - beside, job.seconds / 4, 0.001)
