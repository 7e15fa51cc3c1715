"""Every query of the dashboard and of the alerts finds its metrics, and the labels that it names, in a real service."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import httpx
import pytest
import yaml
from prometheus_client.parser import text_string_to_metric_families

from tests.e2e.service import Service

DEPLOY = Path(__file__).parents[2] / "deploy"
WORDS = {"by", "on", "and", "or", "unless", "ignoring", "group_left", "group_right", "without", "bool", "offset", "le"}
OF_PROMETHEUS = {"up": {"job", "instance"}}
ADDED = {"job", "instance"}
NAME = r"[a-zA-Z_:][a-zA-Z0-9_:]*"


def dashboard_queries() -> Iterator[str]:
    dashboard = json.loads((DEPLOY / "grafana" / "procession.json").read_text())
    for panel in dashboard["panels"]:
        yield from (target["expr"] for target in panel.get("targets", ()))
    for variable in dashboard["templating"]["list"]:
        if variable["type"] == "query":
            yield re.sub(r"label_values\((.*), \w+\)", r"\1", variable["query"])


def rules() -> list[dict[str, Any]]:
    (group,) = yaml.safe_load((DEPLOY / "prometheus" / "alerts.yml").read_text())["groups"]
    return list(group["rules"])


def metrics_in(query: str) -> dict[str, set[str]]:
    """Names of metrics with the labels that are matched."""
    found: dict[str, set[str]] = {}
    bare = re.sub(r"\b(?:by|on|without|ignoring)\s*\([^)]*\)", " ", query)
    bare = re.sub(r"\[[^\]]*\]", " ", bare)
    for name, labels in re.findall(rf"({NAME})\s*(?:\{{([^}}]*)\}})?(?!\s*\()", bare):
        full = name if re.search(rf"\b{name}\b(?!\s*\()", bare) else None
        if full is not None and name not in WORDS and not re.search(rf"\b{name}\s*\(", bare):
            found.setdefault(name, set()).update(re.findall(rf"({NAME})\s*(?:=~|!~|!=|=)", labels))
    return {name: labels for name, labels in found.items() if not re.search(rf'["~]{name}', bare)}


def test_the_reader_of_queries_itself() -> None:
    query = 'sum by (error) (rate(a_total{job=~"$job", error!="FINISHED"}[5m])) and on (x) b{y="c"} > 0.95'
    assert metrics_in(query) == {"a_total": {"job", "error"}, "b": {"y"}}


@pytest.fixture(scope="module")
def served(quiet_service: Service) -> dict[str, set[str]]:
    quiet_service.execute("SELECT 1")
    with pytest.raises(Exception, match="mismatched"):
        quiet_service.execute("SELEC 1")
    found: dict[str, set[str]] = {}
    for family in text_string_to_metric_families(httpx.get(f"{quiet_service.url}/metrics", timeout=60).text):
        for sample in family.samples:
            found.setdefault(sample.name, set()).update(sample.labels)
    return found


def test_queries_name_metrics_and_labels_that_exist(served: dict[str, set[str]]) -> None:
    known = served | OF_PROMETHEUS
    known.setdefault("procession_rule_file_wrong", {"file"})  # only where there are rules
    queries = [*dashboard_queries(), *(rule["expr"] for rule in rules())]
    assert len(queries) > 30
    named = {name: labels for query in queries for name, labels in metrics_in(query).items()}
    assert len(named) > 15
    assert sorted(set(named) - set(known)) == []
    for query in queries:
        for name, labels in metrics_in(query).items():
            assert labels <= known[name] | ADDED, query


def test_alerts_are_complete() -> None:
    names = [rule["alert"] for rule in rules()]
    assert len(names) == len(set(names))
    for rule in rules():
        assert rule["labels"]["severity"] in ("warning", "critical")
        assert set(rule["annotations"]) == {"summary", "description"}


def test_names_that_others_dashboards_and_gateways_read(served: dict[str, set[str]]) -> None:
    """Of grafana's presto-mixin (newer and older naming), and what Trino Gateway asks for by default."""
    mixin = ["RunningQueries", "InternalFailures_OneMinute_Count", "UserErrorFailures_OneMinute_Count"]
    for kind in ("Completed", "Started"):
        mixin += [f"{kind}Queries_OneMinute_Count", f"{kind}Queries_OneMinute_Rate"]
    for kind in ("Failed", "Abandoned", "Canceled"):
        mixin += [f"{kind}Queries_OneMinute_Count", f"{kind}Queries_TotalCount"]
    mixin += [f"ExecutionTime_OneMinute_P{share}" for share in (50, 75, 95, 99)]
    mixin += ["ConsumedCpuTimeSecs_OneMinute_Count", "CpuInputByteRate_OneMinute_Total"]
    older = ["QueuedQueries", "CompletedQueries_TotalCount", "InsufficientResourcesFailures_TotalCount"]
    trino = ["RunningQueries", "QueuedQueries", "FailedQueries_TotalCount", "ExecutionTime_FiveMinutes_P95"]
    names = {f"presto_QueryManager_{name}" for name in mixin}
    names |= {f"com_facebook_presto_execution_QueryManager_{name}" for name in (*mixin, *older)}
    names |= {f"trino_execution_name_QueryManager_{name}" for name in trino}
    names |= {
        "trino_metadata_name_DiscoveryNodeManager_ActiveNodeCount",
        "trino_node_name_CoordinatorNodeManager_ActiveNodeCount",
    }
    assert sorted(names - set(served)) == []


def test_gateways_ask_for_some_metrics_by_name(quiet_service: Service) -> None:
    names = [
        "trino_execution_name_QueryManager_RunningQueries",
        "trino_node_name_CoordinatorNodeManager_ActiveNodeCount",
        "procession_events_total",
    ]
    text = httpx.get(f"{quiet_service.url}/metrics", params={"name[]": names}, timeout=60).text
    found = {s.name for family in text_string_to_metric_families(text) for s in family.samples}
    assert found == set(names)
    assert httpx.get(f"{quiet_service.url}/metrics", params={"name[]": "nothing"}, timeout=60).text.strip() == ""


def test_no_label_grows_without_bound(quiet_service: Service) -> None:
    text = httpx.get(f"{quiet_service.url}/metrics", timeout=60).text
    assert "query_id" not in text
    users = re.findall(r'procession_resource_group_queries\{group="([^"]+)"', text)
    assert set(users) == {"global"}
