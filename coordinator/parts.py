"""The parts of one coordinator: what plans, checks and runs statements, wired from the rooms.

Nothing runs here yet: ``life_cycle.py`` starts and stops them in their order, ``app.py`` puts HTTP before them.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial

from coordinator.auditing import Auditing, load_auditing
from coordinator.checks.native_converter import native_converter
from coordinator.checks.plan_checkers import PlanCheckers
from coordinator.checks.providers import load_plan_checkers
from coordinator.clustering import Clustering, load_clustering
from coordinator.config import CoordinatorConfig
from coordinator.connectors.registry import Catalogs
from coordinator.connectors.system.runtime import NodeState
from coordinator.dispatch.access import AuthorizedPlanner, admitted, check_kill, may_view
from coordinator.dispatch.audited import AuditedPlanner
from coordinator.dispatch.dispatcher import Dispatcher
from coordinator.dispatch.events import QueryEvents
from coordinator.dispatch.runtime_state import DispatcherState
from coordinator.engine.executor import Executor
from coordinator.engine.guarded_jobs import GuardedJobLog
from coordinator.engine.native import NativeExplainer
from coordinator.engine.spark.engine import SparkEngine
from coordinator.engine.sql_processes import SqlProcesses
from coordinator.history.reader import HistoryReader
from coordinator.listeners import EventDelivery, HistoryView, load_event_delivery
from coordinator.managed_catalogs import ManagedCatalogs
from coordinator.peer_jobs import PeerJobs
from coordinator.planner_factory import PlannerFactory
from coordinator.planning.session_statements import PROPERTIES
from coordinator.resource_groups.manager import ResourceGroups
from coordinator.resource_groups.reload import SpecificationFile
from coordinator.resource_groups.specification import ManagerSpec, global_group
from coordinator.room_settings import checker_defaults, session_defaults, spark_settings
from coordinator.security.access_control.load import load_access_policy
from coordinator.security.redaction import Redactor
from coordinator.security.refreshed_file import RefreshedFiles
from coordinator.security.session_property_manager import load_session_properties
from coordinator.server.settings import NodeInfo
from coordinator.validation.kept_plans import KeptPlans
from coordinator.validation.metadata_versions import MetadataVersions
from coordinator.validation.own_loop import PoolOnItsOwnLoop
from coordinator.validation.pool import ValidationPool
from shared.errors import ProcessionError
from shared.spi.access_control import SystemAccessControl, identity_of_session
from shared.spi.event_listener import ListenerContext
from shared.spi.session import Session


@dataclass(frozen=True, slots=True)
class Surroundings:
    """What all parts know: the configuration, where this coordinator is, who is told, and whom it stands beside."""

    config: CoordinatorConfig
    service: ListenerContext
    delivery: EventDelivery
    clustering: Clustering | None
    redact: Redactor
    auditing: Auditing | None = None

    @property
    def node(self) -> NodeInfo:
        return NodeInfo(self.service.node_id, self.service.server_version, self.service.environment)


@dataclass(frozen=True, slots=True)
class Governed:
    """Catalogs, and who may do what in them. ``rules`` are the files that are followed."""

    catalogs: Catalogs
    control: SystemAccessControl
    admit: Callable[[Session], Session]
    rules: RefreshedFiles


@dataclass(frozen=True, slots=True)
class Planning:
    """``planner`` keeps plans; ``pool`` makes each anew."""

    pool: PoolOnItsOwnLoop
    planner: AuditedPlanner
    factory: PlannerFactory
    checkers: PlanCheckers


@dataclass(frozen=True, slots=True)
class Engines:
    spark: SparkEngine
    sql: SqlProcesses
    explainer: NativeExplainer
    jobs: GuardedJobLog


@dataclass(frozen=True, slots=True)
class Parts:
    """One coordinator without its HTTP server."""

    around: Surroundings
    governed: Governed
    planning: Planning
    engines: Engines
    managing: ManagedCatalogs
    groups: ResourceGroups
    groups_file: SpecificationFile | None
    dispatcher: Dispatcher


def make_parts(config: CoordinatorConfig, address: str, version: str, redact: Redactor) -> Parts:
    """Raises ConfigurationError. ``address`` is where the coordinator will be reached."""
    around = _surroundings(config, address, version, redact)
    governed = _governed(around)
    planning = _planning(around, governed)
    engines = _engines(around, governed, planning)
    catalogs = governed.catalogs
    managing = _managing(around, catalogs, planning, engines)
    groups_file = _groups_file(config)
    groups = ResourceGroups(_groups(config, groups_file))
    dispatcher = _dispatcher(around, governed, planning, _executor(config, governed, engines, managing), groups)
    parts = Parts(around, governed, planning, engines, managing, groups, groups_file, dispatcher)
    _show_runtime(parts)
    return parts


def _managing(around: Surroundings, catalogs: Catalogs, planning: Planning, engines: Engines) -> ManagedCatalogs:
    made = (around.config, catalogs, planning.factory, planning.pool, engines.spark, around.redact)
    if around.clustering is None:
        return ManagedCatalogs(*made)
    return ManagedCatalogs(*made, around.clustering.catalogs(), around.clustering.tell_of_catalogs)


def _surroundings(config: CoordinatorConfig, address: str, version: str, redact: Redactor) -> Surroundings:
    node = config.node
    service = ListenerContext(address, version, node.environment, node.node_id, node.data_dir)
    delivery = load_event_delivery(config, service)
    clustering = load_clustering(config, address, version, delivery.settle)
    return Surroundings(config, service, delivery, clustering, redact, load_auditing(config, redact))


def _governed(around: Surroundings) -> Governed:
    config = around.config
    catalogs = Catalogs(config.catalogs)
    catalogs.managed = config.catalog_management.by_statements
    catalogs.shared_work = None if around.clustering is None else around.clustering.work
    rules = RefreshedFiles()
    authenticated = bool(config.authentication.types)
    catalogs.access = load_access_policy(config.etc, catalogs, authenticated=authenticated, files=rules)
    control = catalogs.access.control
    given = load_session_properties(config.etc, PROPERTIES)

    trail = None if around.auditing is None else around.auditing.trail

    def admit(session: Session) -> Session:
        try:
            return admitted(control, session, catalogs.all_names(), given)
        except ProcessionError as error:
            if trail is not None:
                trail.access(error, identity_of_session(session), session.query_id or None)
            raise

    return Governed(catalogs, control, admit, rules)


def _planning(around: Surroundings, governed: Governed) -> Planning:
    config, settings = around.config, around.config.coordinator
    providers, defaults = config.etc / "plan-checker-providers", checker_defaults(config)
    factory = PlannerFactory(
        config.catalogs,
        providers,
        defaults,
        session_defaults(settings)
        | config.embedded.session_defaults(spark_elsewhere=config.spark.remote is not None)
        | config.spark.session_defaults(),
        etc=config.etc,
        authenticated=bool(config.authentication.types),
        facts=around.delivery.anyone,
        memory_bytes=settings.planning_memory,
        managed=governed.catalogs.managed,
        traced=config.tracing.enabled,
    )
    pool = ValidationPool(
        factory,
        size=settings.validation_pool_size,
        max_queued=settings.validation_queue_size,
        timeout_seconds=settings.planning_timeout,
        user_burst_seconds=settings.planning_user_burst,
        long_text=settings.planning_long_text,
    )
    control, catalogs = governed.control, governed.catalogs
    planning = PoolOnItsOwnLoop(pool)
    kept = KeptPlans(planning, version=lambda: control.rules_version, catalogs=lambda: catalogs.version)
    trail = None if around.auditing is None else around.auditing.trail
    planner = AuditedPlanner(AuthorizedPlanner(kept, control), trail)
    return Planning(planning, planner, factory, PlanCheckers(load_plan_checkers(providers, defaults)))


def _engines(around: Surroundings, governed: Governed, planning: Planning) -> Engines:
    config, catalogs = around.config, governed.catalogs
    native = checker_defaults(config).get("native", {})
    data_dir = config.node.data_dir
    return Engines(
        SparkEngine(spark_settings(config, catalogs.spark_drivers()), catalogs.spark_conf()),
        SqlProcesses.made(config.local, config.embedded, (data_dir / "embedded").resolve()),
        NativeExplainer(native_converter(planning.checkers.providers, native)),
        _jobs(around, governed.control),
    )


def _jobs(around: Surroundings, control: SystemAccessControl) -> GuardedJobLog:
    clustering, node = around.clustering, around.config.node
    elsewhere = None
    if clustering is not None and around.delivery.history is not None:
        # Over the connections of the cluster, which do not wait for long.
        reader = HistoryReader(clustering.work.engine)
        elsewhere = PeerJobs(reader, control, node.node_id, clustering.kill)
    tell = around.delivery.job
    return GuardedJobLog(node.data_dir / "jobs.db", control, around.redact, tell, node.node_id, elsewhere)


def _executor(config: CoordinatorConfig, governed: Governed, engines: Engines, managing: ManagedCatalogs) -> Executor:
    return Executor(
        governed.catalogs,
        engines.sql.local,
        engines.spark,
        engines.explainer,
        engines.jobs,
        engines.sql.embedded if config.embedded.processes else None,
        managing.carry_out,
    )


def _dispatcher(
    around: Surroundings, governed: Governed, planning: Planning, executor: Executor, groups: ResourceGroups
) -> Dispatcher:
    config, delivery, clustering = around.config, around.delivery, around.clustering
    return Dispatcher(
        planning.planner,
        planning.checkers,
        executor,
        groups,
        config.dispatch,
        freshness=MetadataVersions(governed.catalogs),
        redact=around.redact,
        distributed_procedures=governed.catalogs.distributed_procedures(),
        results_folder=(config.node.data_dir / "results").resolve(),
        events=QueryEvents(
            delivery.bus.publish,
            around.service,
            hide=around.redact.known,
            each_creation=delivery.each_creation,
            starts=delivery.history is not None,
        ),
        id_suffix=None if clustering is None else clustering.tokens.suffix,
        traced=config.tracing.enabled,
    )


def _show_runtime(parts: Parts) -> None:
    """What system tables say of this coordinator."""
    around, governed, dispatcher = parts.around, parts.governed, parts.dispatcher
    history = around.delivery.history
    trail = None if around.auditing is None else around.auditing.trail

    def may_end(session: Session, owner: Session) -> None:
        try:
            check_kill(governed.control, session, owner)
        except ProcessionError as error:
            if trail is not None:
                trail.access(error, identity_of_session(session), session.query_id or None)
            raise

    governed.catalogs.history = None if history is None else HistoryView(history, governed.control)
    governed.catalogs.runtime = DispatcherState(
        dispatcher,
        partial(_node, around.service, dispatcher),
        partial(may_view, governed.control),
        may_end,
        around.clustering,
    )


def _node(service: ListenerContext, dispatcher: Dispatcher) -> NodeState:
    state = "active" if dispatcher.refusal is None else "shutting_down"
    return NodeState(service.node_id, service.server_address, service.server_version, state)


def _groups_file(config: CoordinatorConfig) -> SpecificationFile | None:
    settings = config.resource_groups
    if settings is None:
        return None
    # Only of the embedded Spark is it known how much memory there is to share.
    embedded = config.spark.remote is None
    pool = config.spark.heap_size if embedded else math.inf
    return SpecificationFile(settings.config_file, settings.refresh_interval, pool)


def _groups(config: CoordinatorConfig, file: SpecificationFile | None) -> ManagerSpec:
    if file is not None:
        return file.read()
    settings = config.coordinator
    return global_group(
        settings.max_concurrent_queries,
        settings.max_queued_queries,
        running_of_user=settings.max_concurrent_of_user,
        queued_of_user=settings.max_queued_of_user,
    )
