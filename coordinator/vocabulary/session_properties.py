"""The session properties that SET SESSION and X-Presto-Session accept: declared once, as data.

``SHOW SESSION``, validation of names and values, and the readers of the settings all come from here; optimizer rules
declare their switches themselves (``coordinator.optimizer.rule``). Names and meanings are Presto's where Presto has
the setting.
"""

from __future__ import annotations

from collections.abc import Container, Mapping
from dataclasses import dataclass
from typing import Literal

from coordinator.vocabulary.foreign_properties import PRESTO_ONLY
from shared.errors import ErrorCode, ProcessionError
from shared.spi.session import Session
from shared.units import parse_data_size, parse_duration

PropertyType = Literal["boolean", "integer", "bigint", "double", "varchar", "duration", "data size"]

PUSHDOWNS = (
    ("filter", "filters"),
    ("projection", "projections"),
    ("aggregation", "aggregations"),
    ("topn", "ORDER BY with LIMIT"),
    ("limit", "LIMIT"),
    ("semi_join", "IN and EXISTS over tables of its own database"),
    ("outer_join", "LEFT, RIGHT and FULL joins of tables of its own database"),
)
"""Kinds of work that connectors take over, switched by ``<kind>_pushdown_enabled``."""

LARGEST_PAGE = "spark_max_parquet_page_size"
"""A default of the coordinator that no session may change, since a Spark that ends takes others' statements along."""


@dataclass(frozen=True, slots=True)
class SessionProperty:
    """``default`` is text, as SHOW SESSION prints it; ``values`` restricts a varchar."""

    name: str
    type: PropertyType
    default: str
    description: str
    values: tuple[str, ...] = ()
    hidden: bool = False


DECLARED: tuple[SessionProperty, ...] = (
    SessionProperty(
        "arrow_compression",
        "varchar",
        "NONE",
        "How the batches of Arrow streams are compressed, for clients far away (Flight SQL and Arrow over HTTP)",
        ("NONE", "LZ4", "ZSTD"),
    ),
    SessionProperty("eager_plan_validation_enabled", "boolean", "true", "Plan and check statements before they queue"),
    SessionProperty(
        "engine",
        "varchar",
        "AUTO",
        "What answers queries over tables of lakes: the embedded engine where it reads little, or one of the two",
        ("AUTO", "EMBEDDED", "SPARK"),
    ),
    SessionProperty(
        "embedded_engine_max_program_rows",
        "bigint",
        "100000",
        "The most rows of lakes for which the embedded engine runs functions row by row",
    ),
    SessionProperty(
        "embedded_engine_max_scan_rows", "bigint", "500000000", "The most rows of lakes that the embedded engine reads"
    ),
    SessionProperty(
        "embedded_engine_max_scan_size",
        "data size",
        "4GB",
        "The most bytes of lakes that the embedded engine reads: of the columns of a query, as stored",
    ),
    SessionProperty(
        "enable_global_late_materialization",
        "boolean",
        "true",
        "Read columns that only the result needs by row position, after its rows are known",
    ),
    SessionProperty(
        "global_late_materialization_cost_based", "boolean", "true", "Fetch columns by position only where that pays"
    ),
    SessionProperty(
        "global_late_materialization_guess_first_rows",
        "boolean",
        "true",
        "Look for the first rows of an order where bounds of columns say they are, and elsewhere only if they are not",
    ),
    SessionProperty(
        "global_late_materialization_max_rows",
        "bigint",
        "100000",
        "The most rows whose columns are fetched by position",
    ),
    SessionProperty(
        "global_late_materialization_min_columns",
        "integer",
        "3",
        "The fewest columns to fetch of a table when all are numbers or dates",
    ),
    SessionProperty(
        "global_late_materialization_min_table_size",
        "data size",
        "16MB",
        "The smallest table whose columns are fetched by position, where that must pay",
    ),
    SessionProperty(
        "join_distribution_type",
        "varchar",
        "AUTOMATIC",
        "The join method to use. Options are BROADCAST, PARTITIONED, AUTOMATIC",
        ("BROADCAST", "PARTITIONED", "AUTOMATIC"),
    ),
    SessionProperty(
        "join_max_broadcast_table_size",
        "data size",
        "100MB",
        "Largest build side that a join copies to all tasks",
    ),
    SessionProperty(
        "join_reordering_strategy",
        "varchar",
        "AUTOMATIC",
        "The strategy to use for reordering joins. Options are NONE, ELIMINATE_CROSS_JOINS, AUTOMATIC",
        ("NONE", "ELIMINATE_CROSS_JOINS", "AUTOMATIC"),
    ),
    SessionProperty(
        "materialized_view_force_stale", "boolean", "false", "Take every materialized view for stale, to try its query"
    ),
    SessionProperty(
        "materialized_view_stale_read_behavior",
        "varchar",
        "USE_VIEW_QUERY",
        "What reading a stale materialized view does whose own property does not say it: run its query, or fail",
        ("USE_VIEW_QUERY", "FAIL", "USE_STITCHING"),
    ),
    SessionProperty(
        "materialized_view_staleness_window",
        "duration",
        "0.00s",
        "For how long stored rows of a materialized view may be read after its tables changed",
    ),
    SessionProperty("native_execution_enabled", "boolean", "false", "Refuse what native workers cannot run"),
    SessionProperty("native_plan_checker_enabled", "boolean", "true", "Have worker fragments converted by the sidecar"),
    SessionProperty(
        "native_plan_checker_mode",
        "varchar",
        "auto",
        "What a refused fragment does: veto the statement, warn, log, or auto: veto procedures, and queries where "
        "native workers run them. The default is the checker's configuration",
        ("AUTO", "VETO", "WARN", "LOG"),
    ),
    SessionProperty(
        "native_plan_checker_unavailable",
        "varchar",
        "auto",
        "What an unreachable sidecar does: fail-open, fail-closed, or auto: fail where a refusal would. The default is "
        "the checker's configuration",
        ("AUTO", "FAIL-OPEN", "FAIL-CLOSED"),
    ),
    SessionProperty("query_max_cpu_time", "duration", "1000000000.00d", "Maximum CPU time of a query"),
    SessionProperty(
        "push_aggregation_through_exchange", "boolean", "true", "Aggregate once before rows are sent to other tasks"
    ),
    SessionProperty("query_max_execution_time", "duration", "100.00d", "Maximum execution time of a query"),
    SessionProperty("query_max_run_time", "duration", "100.00d", "Maximum run time of a query, queueing included"),
    SessionProperty("query_max_total_memory", "data size", "1PB", "Maximum memory of a query, where it is known"),
    SessionProperty("query_priority", "integer", "1", "Priority in the resource group's line; larger goes first"),
    SessionProperty("query_max_stage_count", "integer", "100", "Maximum number of stages a query can have"),
    SessionProperty(
        "spooling_enabled",
        "boolean",
        "true",
        "Results in segments for clients that ask for them, where the coordinator makes any",
    ),
    SessionProperty(
        "spark_approximate_functions",
        "varchar",
        "BOUNDED",
        "Whose estimates approx_distinct and approx_percentile are on Spark: Presto's where bounded memory is enough "
        "(BOUNDED: approx_distinct), SPARK's own, or PRESTO's, for approx_percentile over all values of a group",
        ("BOUNDED", "SPARK", "PRESTO"),
    ),
    SessionProperty(
        "spark_max_reader_memory",
        "data size",
        "0B",
        "What a task of Spark may hold to read a table by itself; beyond that the kernels read it (0B: never)",
    ),
    SessionProperty(
        "spark_settings",
        "varchar",
        "",
        "Settings of Spark for statements that run there, as name=value,name=value; spark.session-settings allows them",
    ),
    SessionProperty("target_result_size", "varchar", "", "Size of a page of results; empty for the default"),
    SessionProperty("time_zone_id", "varchar", "", "Time zone of the session; empty for that of the client"),
    SessionProperty(
        "optimizer_inner_join_pushdown_enabled", "boolean", "true", "Let a connector join tables of its own database"
    ),
    SessionProperty(
        "optimizer_inequality_join_pushdown_enabled",
        "boolean",
        "false",
        "Let it also join by conditions that are no equalities",
    ),
    SessionProperty(
        "join_pushdown_strategy",
        "varchar",
        "AUTOMATIC",
        "AUTOMATIC pushes a join down unless the database expects a result larger than its tables; EAGER always, "
        "NEVER not",
        ("AUTOMATIC", "EAGER", "NEVER"),
    ),
    *(
        SessionProperty(f"{kind}_pushdown_enabled", "boolean", "true", f"Let a connector compute {what}")
        for kind, what in PUSHDOWNS
    ),
)

PropertiesByName = Mapping[str, SessionProperty]
_PROPERTIES: PropertiesByName = {declared.name: declared for declared in DECLARED}


def session_value(session: Session, name: str) -> str:
    """The value of a property of ``DECLARED`` in a session, or its default."""
    return value_in(session, _PROPERTIES[name])


def session_flag(session: Session, name: str) -> bool:
    """A boolean of ``DECLARED``."""
    return session_value(session, name).lower() == "true"


def value_in(session: Session, declared: SessionProperty) -> str:
    """The value of a property in a session, or its default."""
    return session.properties.get(declared.name, default_in(session, declared))


def default_in(session: Session, declared: SessionProperty) -> str:
    """The default of a property: the configuration's, else ours."""
    return session.property_defaults.get(declared.name, declared.default)


def check_session(session: Session, catalogs: Container[str], properties: PropertiesByName) -> None:
    """Raises INVALID_SESSION_PROPERTY for a wrong name or value of X-Presto-Session, NOT_FOUND for a catalog."""
    for catalog in session.catalog_properties:
        if catalog.lower() not in catalogs:
            message = f"Session property catalog does not exist: {catalog}"
            raise ProcessionError(ErrorCode.NOT_FOUND, message)
    for name, value in session.properties.items():
        declared = properties.get(name)
        if declared is None and name in PRESTO_ONLY:
            continue
        if declared is None:
            raise ProcessionError(ErrorCode.INVALID_SESSION_PROPERTY, f"Unknown session property {name}")
        check_value(declared, value)


def check_value(declared: SessionProperty, value: str) -> None:
    """Raises INVALID_SESSION_PROPERTY unless ``value`` is one of the property's type."""
    problem = _problem(declared, value)
    if problem is not None:
        raise ProcessionError(ErrorCode.INVALID_SESSION_PROPERTY, f"{declared.name} {problem}, got: {value}")


def _problem(declared: SessionProperty, value: str) -> str | None:
    if declared.values and value.upper() not in declared.values:
        return f"must be one of {', '.join(declared.values)}"
    try:
        match declared.type:
            case "boolean":
                return None if value.lower() in {"true", "false"} else "must be true or false"
            case "integer" | "bigint":
                int(value)
            case "double":
                float(value)
            case "duration":
                parse_duration(value)
            case "data size":
                parse_data_size(value)
            case "varchar":
                return None
    except ValueError:
        return f"must be a valid {declared.type}"
    return None
