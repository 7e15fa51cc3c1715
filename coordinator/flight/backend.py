"""What the calls of Flight stand on."""

from __future__ import annotations

from dataclasses import dataclass

from coordinator.flight.callers import Callers
from coordinator.flight.crossing import Crossing
from coordinator.flight.prepared import PreparedStatements
from coordinator.flight.settings import FlightSettings
from coordinator.flight.sql_info import Info
from coordinator.flight.statements import Statements


@dataclass(frozen=True, slots=True)
class Backend:
    """``callers`` and ``statements`` belong to the coordinator's loop, ``prepared`` to the server's."""

    callers: Callers
    statements: Statements
    crossing: Crossing
    prepared: PreparedStatements
    settings: FlightSettings
    info: dict[int, Info]
