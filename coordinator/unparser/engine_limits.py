"""The limits of the embedded engine in a session."""

from __future__ import annotations

from typing import cast

from coordinator.unparser.engine_choice import Engine, EngineLimits
from coordinator.vocabulary.session_properties import LARGEST_PAGE, session_value
from shared.spi.session import Session
from shared.units import parse_data_size


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
