"""The example of docs/resource-groups.md is a configuration that works."""

import re
from pathlib import Path

from coordinator.resource_groups.selection import SelectionCriteria, select
from coordinator.resource_groups.specification_file import parse_specification

PAGE = Path(__file__).parents[2] / "docs" / "resource-groups.md"


def test_the_example_works():
    (example,) = re.findall(r"```json\n(.*?)```", PAGE.read_text(), re.DOTALL)
    spec = parse_specification(example.encode())
    assert select(spec, SelectionCriteria("ann", source="bi-superset")).path == ("global", "dashboards", "superset")
    assert select(spec, SelectionCriteria("ann", source="presto-cli")).path == ("global", "people", "ann")
    assert select(spec, SelectionCriteria("ann", query_type="CALL_DISTRIBUTED_PROCEDURE")).path[-1] == "maintenance"
