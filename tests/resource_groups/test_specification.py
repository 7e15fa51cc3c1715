"""Presto's file: what is read from it, what stops the start, and where statements go."""

import json
from math import inf

import pytest

from coordinator.resource_groups.query_type import query_type_of
from coordinator.resource_groups.selection import SelectionCriteria, criteria_of, select
from coordinator.resource_groups.specification import QueryLimits
from coordinator.resource_groups.specification_file import parse_specification
from shared.errors import ProcessionError
from shared.properties import ConfigurationError
from shared.spi.session import Session

# The shape of the example in Presto's own documentation (admin/resource-groups).
EXAMPLE = {
    "rootGroups": [
        {
            "name": "global", "softMemoryLimit": "80%", "hardConcurrencyLimit": 100, "maxQueued": 1000,
            "schedulingPolicy": "weighted", "jmxExport": True,
            "subGroups": [
                {"name": "data_definition", "softMemoryLimit": "10%", "hardConcurrencyLimit": 5, "maxQueued": 100,
                 "schedulingWeight": 1},
                {"name": "adhoc", "softMemoryLimit": "10%", "hardConcurrencyLimit": 50, "maxQueued": 1,
                 "schedulingWeight": 10, "softConcurrencyLimit": 40,
                 "perQueryLimits": {"executionTimeLimit": "1h", "totalMemoryLimit": "1TB", "cpuTimeLimit": "2h"},
                 "subGroups": [
                     {"name": "other", "softMemoryLimit": "10%", "maxRunning": 2, "maxQueued": 1,
                      "schedulingWeight": 10, "schedulingPolicy": "WEIGHTED_FAIR", "workersPerQueryLimit": 3,
                      "subGroups": [{"name": "${USER}", "softMemoryLimit": "1GB", "hardConcurrencyLimit": 1,
                                     "maxQueued": 100}]},
                     {"name": "bi-${tool_name}", "softMemoryLimit": "10%", "hardConcurrencyLimit": 10,
                      "maxQueued": 100, "schedulingWeight": 10, "schedulingPolicy": "weighted_fair",
                      "subGroups": [{"name": "${USER}", "softMemoryLimit": "10%", "hardConcurrencyLimit": 3,
                                     "maxQueued": 10, "softCpuLimit": "30m", "hardCpuLimit": "1h"}]},
                 ]},
            ],
        },
        {"name": "admin", "softMemoryLimit": "100%", "hardConcurrencyLimit": 50, "maxQueued": 100,
         "schedulingPolicy": "query_priority"},
    ],
    "selectors": [
        {"user": "bob", "group": "admin"},
        {"source": ".*pipeline.*", "queryType": "DATA_DEFINITION", "group": "global.data_definition"},
        {"source": "jdbc#(?<tool_name>.*)", "clientTags": ["hipri"], "group": "global.adhoc.bi-${tool_name}.${USER}"},
        {"selectorResourceEstimate": {"executionTime": {"min": "1h"}, "peakMemory": {"max": "1GB"}},
         "group": "global.data_definition"},
        {"schema": "private", "clientInfo": "x.*", "group": "admin"},
        {"user": "nobody.*", "principal": ".*", "group": "admin"},
        {"user": "(?!hermit).*", "group": "global.adhoc.other.${USER}"},
    ],
    "cpuQuotaPeriod": "1h",
}  # fmt: skip


def parsed(document=EXAMPLE, **how):
    return parse_specification(json.dumps(document).encode(), **how)


def test_every_key_of_the_file():
    roots = parsed(memory_pool=1000.0).root_groups
    data_definition, adhoc = roots[0].sub_groups
    other, bi = adhoc.sub_groups
    assert (roots[0].soft_memory_limit, roots[0].scheduling_policy, roots[0].jmx_export) == (800.0, "weighted", True)
    assert (data_definition.hard_concurrency_limit, data_definition.soft_concurrency_limit) == (5, 5)
    assert (adhoc.soft_concurrency_limit, adhoc.scheduling_weight) == (40, 10)
    assert adhoc.limits == QueryLimits(3600.0, float(1 << 40), 7200.0)
    assert (other.hard_concurrency_limit, other.scheduling_policy, other.workers_per_query_limit) == (
        2, "weighted_fair", 3,
    )  # fmt: skip
    user = bi.sub_groups[0]
    assert (user.soft_cpu_limit, user.hard_cpu_limit) == (1800.0, 3600.0)
    assert other.sub_groups[0].soft_memory_limit == float(1 << 30)
    assert other.sub_groups[0].limits == QueryLimits(inf, inf, inf)
    assert parsed().cpu_quota_period == 3600.0


@pytest.mark.parametrize(
    ("criteria", "path"),
    [
        (SelectionCriteria("bob", source="a pipeline", query_type="DATA_DEFINITION"), "admin"),
        (SelectionCriteria("eve", source="a pipeline", query_type="data_definition"), "global.data_definition"),
        (SelectionCriteria("eve", source="a pipeline", query_type="SELECT"), "global.adhoc.other.eve"),
        (SelectionCriteria("eve", source="jdbc#x", client_tags=frozenset({"hipri", "a"})), "global.adhoc.bi-x.eve"),
        (SelectionCriteria("eve", source="jdbc#x", client_tags=frozenset({"a"})), "global.adhoc.other.eve"),
        (SelectionCriteria("eve", estimates={"EXECUTION_TIME": 3600, "PEAK_MEMORY": 9}), "global.data_definition"),
        (SelectionCriteria("eve", estimates={"EXECUTION_TIME": 3599, "PEAK_MEMORY": 9}), "global.adhoc.other.eve"),
        (SelectionCriteria("eve", estimates={"EXECUTION_TIME": 3600}), "global.adhoc.other.eve"),
        (SelectionCriteria("eve", schema="private", client_info="xyz"), "admin"),
        (SelectionCriteria("eve", schema="private", client_info="axyz"), "global.adhoc.other.eve"),
        (SelectionCriteria("nobody1"), "global.adhoc.other.nobody1"),
        (SelectionCriteria("a.b"), "global.adhoc.other.a.b"),
    ],
)
def test_first_selector_that_matches(criteria, path):
    selection = select(parsed(), criteria)
    assert ".".join(selection.path) == path
    assert len(selection.path) == len(selection.specs)


def test_no_selector_matches():
    with pytest.raises(ProcessionError, match="Query did not match any selection rule") as failure:
        select(parsed(), SelectionCriteria("hermit"))
    assert failure.value.code.name == "MISSING_RESOURCE_GROUP_SELECTOR"


def test_a_template_that_leads_nowhere_is_the_statements_failure():
    document = EXAMPLE | {"selectors": [{"group": "global.${USER}"}]}
    with pytest.raises(ProcessionError, match=r"No matching configuration found for: global\.eve"):
        select(parsed(document), SelectionCriteria("eve"))
    with pytest.raises(ProcessionError, match=r"Cannot add queries to global.adhoc. It is not a leaf group."):
        select(parsed(document), SelectionCriteria("adhoc"))


def group(**changes):
    root = {"name": "g", "softMemoryLimit": "1GB", "maxQueued": 1, "hardConcurrencyLimit": 1} | changes
    return {"rootGroups": [root], "selectors": [{"group": "g"}]}


def selector(**changes):
    return group() | {"selectors": [{"group": "g"} | changes]}


@pytest.mark.parametrize(
    ("document", "problem"),
    [
        (group(hardConcurencyLimit=1), "unknown field `hardConcurencyLimit`.*rootGroups"),
        (group(hardConcurrencyLimit=None), "Missing required property: hardConcurrencyLimit"),
        (group(softMemoryLimit="lots"), "softMemoryLimit: size is not a valid data size string: lots"),
        (group(maxQueued=-1), "Expected `int` >= 0.*maxQueued"),
        (group(softConcurrencyLimit=2), "must be greater than or equal to softConcurrencyLimit"),
        (group(schedulingPolicy="random"), "schedulingPolicy must be one of fair, weighted"),
        (group(schedulingWeight=0), "Expected `int` >= 1"),
        (group(hardCpuLimit="1h"), "cpuQuotaPeriod must be specified to use cpu limits on group: g"),
        (group(softCpuLimit="1h") | {"cpuQuotaPeriod": "1h"}, "Must specify hard CPU limit in addition to soft limit"),
        (group(softCpuLimit="2h", hardCpuLimit="1h") | {"cpuQuotaPeriod": "1h"}, "Soft CPU limit cannot be greater"),
        (group(perQueryLimits={"memory": "1GB"}), "unknown field `memory`"),
        (group(perQueryLimits={"cpuTimeLimit": "x"}), "perQueryLimits: cpuTimeLimit: duration is not"),
        (group(schedulingPolicy="query_priority", subGroups=group(name="s", schedulingPolicy="fair")["rootGroups"]),
         "group 's': its parent uses query priority scheduling"),
        (group(subGroups=group(name="s")["rootGroups"]), "selector 1: Cannot add queries to g. It is not a leaf"),
        (group(subGroups=group(name="s")["rootGroups"] * 2), "Duplicated sub group: s"),
        (selector(user="("), "selector 1: user: not a valid regular expression"),
        (selector(group="h"), "selector 1: No matching configuration found for: h"),
        (selector(group="g.${TOOL}"), r"unresolved variables \['TOOL'\] in resource group ID 'g.\${TOOL}'"),
        (selector(user="(?<a>.)", source="(?<a>.)"), r"Multiple definitions found for variable \${a}"),
        (selector(queryType="READ"), "unknown queryType 'READ'"),
        (selector(userRegex="x"), "unknown field `userRegex`"),
        (selector(selectorResourceEstimate={"cpuTime": {"min": "x"}}), "selector 1: cpuTime: duration is not"),
        ({"rootGroups": []}, "missing required field `selectors`"),
    ],
)  # fmt: skip
def test_what_stops_the_start(document, problem):
    with pytest.raises(ConfigurationError, match=problem):
        parsed(document)


def test_no_json():
    with pytest.raises(ConfigurationError, match="malformed"):
        parse_specification(b"{,}")


@pytest.mark.parametrize(
    ("text", "kind"),
    [
        ("select 1", "SELECT"), (" -- hi\n/* a\nb */ (VALUES 1)", "SELECT"), ("WITH a AS (SELECT 1) TABLE a", "SELECT"),
        ("EXPLAIN SELECT 1", "EXPLAIN"), ("show tables", "DESCRIBE"), ("DESC t", "DESCRIBE"), ("use a.b", "CONTROL"),
        ("CREATE TABLE t AS SELECT 1", "DATA_DEFINITION"), ("DELETE FROM t", "DELETE"), ("", None), ("12", None),
        ("CALL system.help()", "DATA_DEFINITION"), ("EXECUTE p USING 1", "SELECT"), ('execute "P p"', "DELETE"),
        ("EXECUTE missing", None),
    ],
)  # fmt: skip
def test_query_types(text, kind):
    session = Session(user="u", prepared_statements={"p": "SELECT ?", "P p": "DELETE FROM t"})
    assert query_type_of(text, session) == kind


def test_criteria_of_a_session():
    estimates = {"EXECUTION_TIME": "1h", "PEAK_MEMORY": "1kB", "CPU_TIME": "soon"}
    session = Session(user="u", source="s", client_tags=("a",), schema="db", resource_estimates=estimates)
    criteria = criteria_of(session, "SELECT")
    assert criteria == SelectionCriteria(
        "u", "s", None, None, "SELECT", frozenset({"a"}), {"EXECUTION_TIME": 3600.0, "PEAK_MEMORY": 1024}, "db"
    )
