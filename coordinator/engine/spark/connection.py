"""One session with one Spark server."""

from __future__ import annotations

import threading
from dataclasses import dataclass, field

from pyspark.sql.connect.session import SparkSession

from coordinator.engine.spark.progress import ProgressRelay
from coordinator.engine.spark.server import EmbeddedServer


@dataclass(frozen=True, slots=True, eq=False, weakref_slot=True)
class Connection:
    """One session with one server; ``server`` is None when others run it. A restart makes a new connection.

    ``lost``: the server does not know the session any more, or cannot be reached.
    """

    session: SparkSession
    server: EmbeddedServer | None
    parallelism: int
    progress: ProgressRelay
    lost: threading.Event = field(default_factory=threading.Event)

    @property
    def server_alive(self) -> bool:
        """False once an embedded server has ended or was given up; of another's server nothing is known."""
        return self.server is None or self.server.alive

    @property
    def alive(self) -> bool:
        return not self.lost.is_set() and self.server_alive
