"""What coordinators that ended left open in catalogs: taken up at the start, and of other coordinators all the time."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable, Iterable, Mapping
from contextlib import asynccontextmanager
from functools import partial

import structlog

from coordinator.cluster.recovery import PeerRecovery, Recover
from coordinator.connectors.registry import Catalogs
from coordinator.engine.spark.engine import SparkEngine
from coordinator.values.shared_work import SharesWork
from shared.errors import ProcessionError
from shared.spi.connector import Connector

_log = structlog.get_logger("coordinator")


def open_catalogs(catalogs: Catalogs, spark: SparkEngine) -> None:
    """Reach every catalog once, and settle what calls of an earlier coordinator left open in it."""
    for name in catalogs.names():
        try:
            _open(catalogs.connector(name), name, partial(spark.end_earlier_write, name))
        except ProcessionError as error:
            _log.error("catalog cannot be reached", catalog=name, reason=error.message)


def _open(connector: Connector, name: str, end_write: Callable[[str], bool]) -> None:
    """Raises ProcessionError for an unreachable catalog, which must not keep the coordinator down: its work waits."""
    try:
        connector.schemas()
    except ProcessionError:
        later: Callable[..., None] = getattr(connector, "recover_later", _nothing_to_wait_for)
        later(end_write)
        raise
    recover: Callable[..., Iterable[object]] = getattr(connector, "recover", _nothing_to_recover)
    for outcome in recover(end_write):
        _log.info("recovered", catalog=name, outcome=str(outcome))


def close_catalogs(catalogs: Catalogs) -> None:
    """End what works on in catalogs by itself; what it has not done the next start does. Blocks for a moment.

    That of a catalog that was dropped ends when it is done.
    """
    for connector in catalogs.made():
        close: Callable[[], None] = getattr(connector, "close", _nothing_to_close)
        close()


@asynccontextmanager
async def recovering(
    catalogs: Catalogs, spark: SparkEngine, connected: Callable[[], bool], interval: float
) -> AsyncIterator[None]:
    """Meanwhile what other coordinators leave open is taken up; see ``PeerRecovery``."""

    def sharing() -> Mapping[str, SharesWork]:
        found: dict[str, SharesWork] = {}
        for name in catalogs.names():
            try:
                connector = catalogs.connector(name)
            except Exception as error:  # one catalog must not keep the others from being recovered
                _log.warning("the journal of a catalog cannot be had", catalog=name, reason=str(error))
                continue
            if isinstance(connector, SharesWork) and connector.shares_work:
                found[name] = connector
        return found

    def to_recover() -> dict[str, Recover]:
        return {name: partial(one.recover, partial(spark.end_earlier_write, name)) for name, one in sharing().items()}

    def refuse_commits() -> bool:
        # Those that nobody asked for yet have begun nothing.
        known = [one for one in catalogs.made() if isinstance(one, SharesWork) and one.shares_work]
        refused = [one.refuse_commits() for one in known]
        return all(refused)

    recovery = PeerRecovery(connected, interval, to_recover, refuse_commits)
    recovery.start()
    try:
        yield
    finally:
        await asyncio.to_thread(recovery.stop)


def _nothing_to_recover(_end_write: Callable[[str], bool]) -> Iterable[object]:
    return ()


def _nothing_to_wait_for(_end_write: Callable[[str], bool]) -> None:
    pass


def _nothing_to_close() -> None:
    pass
