"""One session with one Spark server."""

from __future__ import annotations

import threading
from dataclasses import dataclass, field

from pyspark.sql.connect.session import SparkSession

from coordinator.engine.spark.progress import ProgressRelay
from coordinator.engine.spark.server import EmbeddedServer


@dataclass(frozen=True, slots=True)
class Connection:
    """One session with one server; ``server`` is None when others run it. A restart makes a new connection."""

    session: SparkSession
    server: EmbeddedServer | None
    parallelism: int
    progress: ProgressRelay
    lost: threading.Event = field(default_factory=threading.Event)

    @property
    def alive(self) -> bool:
        return not self.lost.is_set() if self.server is None else self.server.alive
