"""What the pages show beside queries: the parts of this coordinator, its procedures, and its settings."""

from __future__ import annotations

import re
import shutil
from collections.abc import Callable, Iterator, Sequence
from functools import partial
from pathlib import Path

from fastapi import APIRouter, Depends, FastAPI, Request
from pydantic import BeforeValidator
from pydantic.fields import FieldInfo

from coordinator.checks.circuit_breaker import BreakerState
from coordinator.checks.native import NativePlanChecker
from coordinator.checks.plan_checkers import PlanCheckers
from coordinator.config import CONFIG_MODELS, CoordinatorConfig, LogSettings, NodeSettings
from coordinator.connectors.registry import Catalogs
from coordinator.connectors.system.registered import registered_procedures
from coordinator.engine.processes.pool import EngineStats
from coordinator.engine.spark.engine import SparkEngine
from coordinator.events.bus import EventBus
from coordinator.parts import Parts
from coordinator.security.redaction import HIDDEN, Redactor, is_secret_name
from coordinator.server.ui.parts import Health, Part, ShownSetting
from coordinator.server.ui.routes import UiSources
from coordinator.validation.own_loop import PoolOnItsOwnLoop
from coordinator.values.settings import Settings
from shared.properties import ConfigurationError, Property, read_properties
from shared.spi.procedure import ProcedureDeclaration
from shared.units import format_data_size, format_duration

_LITTLE_ROOM = 1 << 30
_SPARK: dict[str, Health] = {"up": "up", "not started": "idle", "starting": "idle"}
_BREAKER: dict[BreakerState, Health] = {BreakerState.CLOSED: "up", BreakerState.OPEN: "down"}
_FILES: dict[str, tuple[type[Settings], ...]] = {
    "config.properties": CONFIG_MODELS,
    "node.properties": (NodeSettings,),
    "log.properties": (LogSettings,),
}


def ui_sources(coordinator: Parts) -> UiSources:
    """Of one coordinator."""
    around, planning, engines = coordinator.around, coordinator.planning, coordinator.engines
    config, catalogs, redact, bus = around.config, coordinator.governed.catalogs, around.redact, around.delivery.bus
    pool, checkers, spark, sql = planning.pool, planning.checkers, engines.spark, engines.sql

    def parts() -> list[Part]:
        return [
            _spark(spark, redact),
            *_sidecar(checkers),
            _engine("Embedded engine", sql.embedded.stats()),
            _engine("Local engine", sql.local.stats()),
            _planners(pool),
            *_listeners(bus),
            _data(config.node.data_dir),
            Part("Catalogs", "up" if catalogs.names() else "unknown", ", ".join(sorted(catalogs.names()))),
        ]

    settings = partial(shown_settings, config, redact)
    return UiSources(parts, settings, partial(_procedures, catalogs), config.internal.shared_secret)


def include_below_ui(app: FastAPI, router: APIRouter) -> None:
    """The routes once more below ``/ui``, for pages alone, whose requests bring the token of their forms."""

    def check(request: Request) -> None:
        app.state.form_tokens.check(request)

    app.include_router(router, prefix="/ui", dependencies=[Depends(check)], include_in_schema=False)


def spark_state(spark: SparkEngine) -> dict[str, object]:
    """For ``/v1/status``."""
    status = spark.status
    return {
        "state": status.state.upper().replace(" ", "_"),
        "restarts": status.restarts,
        "givenUp": status.given_up,
        "problem": status.problem,
        "failedWritesLeaveFiles": status.leaves_files,
    }


def _procedures(catalogs: Catalogs, catalog: str) -> list[ProcedureDeclaration]:
    return [procedure.declaration for procedure in registered_procedures(catalogs, catalog)]


def _spark(spark: SparkEngine, redact: Redactor) -> Part:
    status = spark.status
    words = [status.state, *([f"started again {status.restarts} times"] if status.restarts else [])]
    words += [status.problem] if status.problem else []
    return Part("Spark", _SPARK.get(status.state, "down"), redact(", ".join(words)))


def _sidecar(checkers: PlanCheckers) -> Iterator[Part]:
    for checker in checkers.providers:
        if isinstance(checker, NativePlanChecker):
            stats = checker.stats()
            asked = stats.sent + stats.cache_hits
            detail = f"{asked} fragments checked, {stats.refused} refused, {stats.unavailable} without an answer"
            yield Part("Sidecar", _BREAKER.get(stats.breaker, "unknown") if stats.sent else "unknown", detail)


def _engine(name: str, stats: EngineStats) -> Part:
    detail = f"{stats.busy} busy of {stats.alive} processes, at most {stats.size}; {stats.answered} answered"
    return Part(name, "up" if stats.alive else "idle", detail + (f", {stats.died} died" if stats.died else ""))


def _planners(pool: PoolOnItsOwnLoop) -> Part:
    stats = pool.stats()
    detail = f"{stats.busy} busy of {stats.alive}, {stats.waiting} statements wait; {stats.planned} planned"
    return Part("Planners", "up" if stats.alive else "down", detail)


def _listeners(bus: EventBus) -> Iterator[Part]:
    for stats in bus.stats():
        lost = stats.dropped + stats.failed
        detail = f"{stats.delivered} events, {stats.waiting} wait" + (f", {lost} lost" if lost else "")
        yield Part(f"Events to {stats.name}", "down" if lost and not stats.delivered else "up", detail)


def _data(folder: Path) -> Part:
    try:
        free = shutil.disk_usage(folder).free
    except OSError:
        return Part("Store", "down", "the data directory cannot be read")
    return Part("Store", "up" if free > _LITTLE_ROOM else "down", f"{format_data_size(free)} free")


def shown_settings(config: CoordinatorConfig, redact: Redactor) -> list[ShownSetting]:
    """Every property with where it came from; secrets are hidden. Reads the files again."""
    found: list[ShownSetting] = []
    for name, models in _FILES.items():
        entries = _entries(config.etc / name)
        for field in _fields(models):
            alias = str(field.alias)
            entry = entries.pop(alias, None)
            value = _text(field) if entry is None else entry.value
            origin = "default" if entry is None else f"{name}:{entry.line}"
            value, origin = _given(config, alias, value, origin)
            found.append(ShownSetting(alias, _shown(alias, value, redact), origin, field.description or ""))
        found += [_set(config.etc, entry, redact) for entry in entries.values()]
    others = [file for file in sorted(config.etc.rglob("*.properties")) if file.name not in _FILES]
    found += [_set(config.etc, entry, redact) for file in others for entry in _entries(file).values()]
    return found


def _fields(models: Sequence[type[Settings]]) -> Iterator[FieldInfo]:
    return (field for model in models for field in model.model_fields.values() if field.alias is not None)


def _given(config: CoordinatorConfig, name: str, value: str, origin: str) -> tuple[str, str]:
    """What the command line says over the files."""
    said: dict[str, Callable[[], object]] = {
        "http-server.http.port": lambda: config.coordinator.http_port,
        "node.data-dir": lambda: config.node.data_dir,
    }
    actual = str(said[name]()) if name in said else value
    return (value, origin) if actual == value else (actual, "command line")


def _entries(file: Path) -> dict[str, Property]:
    try:
        return read_properties(file) if file.is_file() else {}
    except ConfigurationError:
        return {}


def _set(etc: Path, entry: Property, redact: Redactor) -> ShownSetting:
    where = entry.file.relative_to(etc) if entry.file.is_relative_to(etc) else Path(entry.file.name)
    return ShownSetting(entry.name, _shown(entry.name, entry.value, redact), f"{where}:{entry.line}")


def _shown(name: str, value: str, redact: Redactor) -> str:
    is_secret = is_secret_name(name) or name.endswith((".key", "-key"))
    return HIDDEN if value and is_secret else redact(value)


def _text(field: FieldInfo) -> str:
    """A default with its unit, as somebody would write it into the file."""
    default, has_unit = field.default, any(isinstance(part, BeforeValidator) for part in field.metadata)
    match default:
        case None:
            return ""
        case bool():
            return str(default).lower()
        case tuple():
            return ",".join(map(str, default))
        case float() if has_unit:
            return re.sub(r"\.?0+(?=[a-z])", "", format_duration(default))
        case int() if has_unit:
            return format_data_size(default)
        case _:
            return "" if "PydanticUndefined" in type(default).__name__ else str(default)
