"""The two engines of a service that run SQL in processes beside the coordinator, and what these are forked from."""

from __future__ import annotations

import contextlib
import threading
from dataclasses import dataclass
from pathlib import Path

from coordinator.engine.embedded.engine import EmbeddedEngine
from coordinator.engine.embedded.settings import EmbeddedSettings
from coordinator.engine.local_settings import LocalSettings
from coordinator.engine.processes.local_processes import LocalProcesses
from coordinator.engine.processes.nursery import Nursery
from shared.errors import ProcessionError


@dataclass(frozen=True, slots=True)
class SqlProcesses:
    """``local`` runs SQL over what the coordinator gives it, ``embedded`` over files of tables."""

    nursery: Nursery
    local: LocalProcesses
    embedded: EmbeddedEngine

    @classmethod
    def made(cls, local: LocalSettings, embedded: EmbeddedSettings, scratch: Path) -> SqlProcesses:
        """None of the processes runs yet."""
        nursery = Nursery()
        return cls(
            nursery,
            LocalProcesses(local.of_process(), nursery, local.limits(), local.total_bytes()),
            EmbeddedEngine(embedded.of_process(scratch), nursery, embedded.processes, small=embedded.small()),
        )

    def start(self) -> None:
        """One process of the local engine, in a while, so that the first statement need not wait for it."""
        threading.Thread(target=self._warm_up, name="local-engine-start", daemon=True).start()

    def close(self) -> None:
        """Ends all processes; blocks."""
        self.local.close()
        self.embedded.close()
        self.nursery.close()

    def _warm_up(self) -> None:
        with contextlib.suppress(ProcessionError):  # it is logged, and the first statement tries again
            self.local.warm_up()
