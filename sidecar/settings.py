"""Settings of the service, each a command-line flag."""

from __future__ import annotations

import os
import uuid
from dataclasses import dataclass, field

VERSION = "0.1.0"


@dataclass(frozen=True, slots=True)
class SidecarSettings:
    """``refusal_status`` is 400 as the design says, or 422 as Presto C++ answers.

    ``shared_secret``: who does not know it is not answered.
    ``max_depth`` is the most levels of plan nodes, or of expressions, in a fragment. ``worker_functions`` are what the
    workers have beyond this Velox, by Presto's names without catalog and schema. ``function_catalogs`` are those whose
    functions are Velox's: the native namespace of coordinators.
    """

    host: str = "127.0.0.1"
    port: int = 7778
    workers: int = max(1, os.cpu_count() or 1)
    compile_check: bool = True
    refusal_status: int = 400
    max_body_bytes: int = 16 << 20
    deadline_seconds: float = 10.0
    max_waiting: int = 256
    max_depth: int = 500
    worker_functions: tuple[str, ...] = ()
    char_n_to_varchar_implicit_cast: bool = False
    function_catalogs: tuple[str, ...] = ("native", "presto")
    environment: str = "procession"
    node_version: str = VERSION
    shared_secret: str | None = field(default=None, repr=False)
    node_id: str = field(default_factory=lambda: str(uuid.uuid4()))

    def __post_init__(self) -> None:
        checks = (
            (self.workers >= 1, "--workers must be at least 1"),
            (self.refusal_status in (400, 422), "--refusal-status must be 400 or 422"),
            (self.max_body_bytes >= 1024, "--max-body-bytes must be at least 1024"),
            (self.deadline_seconds > 0, "--deadline-seconds must be positive"),
            (self.max_waiting >= 1, "--max-waiting must be at least 1"),
            (self.max_depth >= 1, "--max-depth must be at least 1"),
            (0 <= self.port <= 65535, "--port must be between 0 and 65535"),
        )
        for good, message in checks:
            if not good:
                raise ValueError(message)
