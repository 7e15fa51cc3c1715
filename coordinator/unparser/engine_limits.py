"""The limits of the embedded engine in a session."""

from __future__ import annotations

from dataclasses import replace
from typing import cast

from coordinator.unparser.engine_choice import Engine, EngineLimits
from coordinator.vocabulary.session_properties import LARGEST_PAGE, session_value
from shared.spi.session import Session
from shared.units import parse_data_size

_WRITTEN_BYTES, _WRITTEN_ROWS = 256 << 20, 50_000_000


def limits_of_writes(limits: EngineLimits) -> EngineLimits:
    """The coordinator writes few rows by itself: a statement that reads much is Spark's to begin with."""
    return replace(
        limits,
        scan_bytes=min(limits.scan_bytes, _WRITTEN_BYTES),
        scan_rows=min(limits.scan_rows, _WRITTEN_ROWS),
    )


def engine_limits(session: Session) -> EngineLimits:
    """From the session's properties and the configuration's defaults."""
    return EngineLimits(
        engine=cast(Engine, session_value(session, "engine").lower()),
        scan_bytes=parse_data_size(session_value(session, "embedded_engine_max_scan_size")),
        scan_rows=int(session_value(session, "embedded_engine_max_scan_rows")),
        program_rows=int(session_value(session, "embedded_engine_max_program_rows")),
        spark_reader_bytes=parse_data_size(session_value(session, "spark_max_reader_memory")),
        # No session may change it: all others' statements end with a Spark that ends.
        spark_page_bytes=parse_data_size(session.property_defaults.get(LARGEST_PAGE, "0B")),
    )
