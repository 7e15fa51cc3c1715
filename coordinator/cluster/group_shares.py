"""The slots of resource groups over all coordinators: each tells what it could use, and learns what it may."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass
from hashlib import sha256

from sqlalchemy import Connection, Engine, RowMapping, delete, func, select, text
from sqlalchemy.dialects.postgresql import insert

from coordinator.cluster.schema import GROUP_SHARES, NODES
from coordinator.resource_groups.shares import Asked, Path, Share, Usage, contended, share_of

_LOCK = 0x70726F66
_TURN_SECONDS = 2
"""How long the same coordinators come first where there are fewer slots than coordinators that want some."""


def row_name(path: Path) -> str:
    """Of a group in the table: short whatever users are called, and without characters that a database refuses."""
    return sha256(json.dumps(path).encode()).hexdigest()


@dataclass(frozen=True, slots=True)
class GroupShares:
    """``suffix`` is this coordinator. Every call blocks, for seconds at most."""

    engine: Engine
    suffix: str

    def exchange(self, groups: Mapping[Path, Asked]) -> dict[Path, Share]:
        """What this coordinator may have of each group now. Raises SQLAlchemyError.

        One coordinator at a time: shares never add up to more than the limit. Those of coordinators that ended are
        nobody's.
        """
        paths = {row_name(path): path for path in groups}
        with self.engine.begin() as connection:
            connection.execute(text("SELECT pg_advisory_xact_lock(:key)"), {"key": _LOCK})
            alive = select(NODES.c.suffix).where(NODES.c.until > func.now(), NODES.c.replaced.is_(False))
            unused = (GROUP_SHARES.c.suffix == self.suffix) & GROUP_SHARES.c.path.not_in(paths)
            gone = unused | (GROUP_SHARES.c.suffix.not_in(alive) & (GROUP_SHARES.c.suffix != self.suffix))
            connection.execute(delete(GROUP_SHARES).where(gone))
            found = connection.execute(select(GROUP_SHARES).where(GROUP_SHARES.c.path.in_(paths))).mappings().all()
            known: dict[str, dict[str, RowMapping]] = {}
            for each in found:
                known.setdefault(each["path"], {})[each["suffix"]] = each
            nodes = {self.suffix, *connection.execute(alive).scalars()}
            turn = int(
                connection.execute(select(func.floor(func.extract("epoch", func.now()) / _TURN_SECONDS))).scalar_one()
            )
            shares: dict[Path, Share] = {}
            rows: list[dict[str, object]] = []
            for name, path in paths.items():
                shares[path], mine = self._share(nodes, groups[path], known.get(name, {}), turn)
                row = {"path": name, "suffix": self.suffix, **mine}
                if dict(known.get(name, {}).get(self.suffix, {})) != row:
                    rows.append(row)
            self._write(connection, rows)
        return shares

    def _share(
        self, nodes: set[str], asked: Asked, known: Mapping[str, RowMapping], turn: int
    ) -> tuple[Share, dict[str, int]]:
        demand = asked.demand

        def column(name: str, mine: int) -> dict[str, int]:
            others = {node: int(known[node][name]) if node in known else 0 for node in nodes}
            return others | {self.suffix: mine}

        wanted, reserved = column("wanted", demand.wanted), column("reserved", 0)
        places, kept = column("places", demand.places), column("places_reserved", 0)
        running = share_of(asked.running_limit, self.suffix, demand.running, wanted, reserved, turn)
        queued = share_of(asked.queued_limit, self.suffix, demand.queued, places, kept, turn)
        waits = contended(self.suffix, wanted, reserved) or contended(self.suffix, places, kept)
        others = sum(count for node, count in places.items() if node != self.suffix)
        full = demand.queued + others >= asked.queued_limit
        # What it may have now it may take before it knows of a smaller share: the others get that the next time.
        mine = {
            "wanted": demand.wanted,
            "reserved": max(running, demand.running, asked.running_share),
            "places": demand.places,
            "places_reserved": max(queued, demand.queued, asked.queued_share),
        }
        cpu, memory = column("cpu_millis", 0), column("memory_bytes", 0)
        others_use = Usage(sum(cpu.values()) / 1000, float(sum(memory.values())))
        mine |= {"cpu_millis": _rounded(asked.used.cpu_seconds * 1000, 100)}
        mine |= {"memory_bytes": _rounded(asked.used.memory_bytes, 1 << 20)}
        return Share(running, queued, waits, full, others_use), mine

    def _write(self, connection: Connection, rows: list[dict[str, object]]) -> None:
        if not rows:
            return
        made = insert(GROUP_SHARES).values(rows)
        names = ("wanted", "reserved", "places", "places_reserved", "cpu_millis", "memory_bytes")
        changed = {name: made.excluded[name] for name in names}
        connection.execute(made.on_conflict_do_update(index_elements=["path", "suffix"], set_=changed))


def _rounded(value: float, step: int) -> int:
    """So that not every moment changes a row."""
    return round(value / step) * step
