"""Run events against the models of OpenLineage's own Python client."""

from __future__ import annotations

import gzip
import json
from collections.abc import Mapping
from typing import Any, get_args

import httpx
import pytest
import respx
from msgspec.structs import replace
from openlineage.client import event_v2
from openlineage.client.facet_v2 import (
    column_lineage_dataset,
    dataset_version_dataset,
    datasource_dataset,
    error_message_run,
    external_query_run,
    job_type_job,
    lifecycle_state_change_dataset,
    nominal_time_run,
    output_statistics_output_dataset,
    parent_run,
    processing_engine_run,
    schema_dataset,
    sql_job,
    symlinks_dataset,
)
from openlineage.client.serde import Serde
from openlineage.client.uuid import generate_static_uuid

from coordinator.events.openlineage.listener import OpenLineageListener, OpenLineageProvider
from coordinator.events.openlineage.run_events import Naming, run_event, run_id
from coordinator.events.openlineage.settings import DEFAULT_TYPES
from shared.spi.event_listener import (
    InputColumn,
    LifecycleChange,
    OutputColumn,
    QueryInput,
    QueryIOMetadata,
    QueryOutput,
)
from tests.event_samples import CREATED, FAILURE, IO, completed, created, progress, service, updated

FACETS: dict[str, Any] = {
    "schema": schema_dataset.SchemaDatasetFacet,
    "dataSource": datasource_dataset.DatasourceDatasetFacet,
    "version": dataset_version_dataset.DatasetVersionDatasetFacet,
    "columnLineage": column_lineage_dataset.ColumnLineageDatasetFacet,
    "lifecycleStateChange": lifecycle_state_change_dataset.LifecycleStateChangeDatasetFacet,
    "outputStatistics": output_statistics_output_dataset.OutputStatisticsOutputDatasetFacet,
    "sql": sql_job.SQLJobFacet,
    "jobType": job_type_job.JobTypeJobFacet,
    "processing_engine": processing_engine_run.ProcessingEngineRunFacet,
    "errorMessage": error_message_run.ErrorMessageRunFacet,
    "externalQuery": external_query_run.ExternalQueryRunFacet,
    "nominalTime": nominal_time_run.NominalTimeRunFacet,
    "parent": parent_run.ParentRunFacet,
    "symlinks": symlinks_dataset.SymlinksDatasetFacet,
}
NAMING = Naming("coordinator.example.com:8080")
PLACE = "presto://coordinator.example.com:8080"


def checked(facets: Mapping[str, Any]) -> None:
    """Each standard facet makes the client's model, which writes the same JSON again under the same schema."""
    for name, facet in facets.items():
        if name.startswith("presto_"):
            continue
        given = {key: value for key, value in facet.items() if not key.startswith("_")}
        made = FACETS[name](**_nested(name, given))
        written = json.loads(Serde.to_json(made))
        assert facet["_schemaURL"] == written.pop("_schemaURL"), name
        written.pop("_producer")
        if name == "schema":
            assert [field.pop("fields") for field in written["fields"]] == [[]] * len(written["fields"])  # none nested
        assert written == given, name


def _nested(name: str, given: dict[str, Any]) -> dict[str, Any]:
    if name == "schema":
        fields = [schema_dataset.SchemaDatasetFacetFields(**field) for field in given["fields"]]
        return {"fields": fields}
    if name == "columnLineage":
        fields = {key: column_lineage_dataset.Fields(_inputs(of["inputFields"])) for key, of in given["fields"].items()}
        return {"fields": fields, "dataset": _inputs(given["dataset"])}
    if name == "lifecycleStateChange":
        change = lifecycle_state_change_dataset.LifecycleStateChange(given["lifecycleStateChange"])
        before = given.get("previousIdentifier")
        previous = None if before is None else lifecycle_state_change_dataset.PreviousIdentifier(**before)
        return {"lifecycleStateChange": change, "previousIdentifier": previous}
    if name == "symlinks":
        return {"identifiers": [symlinks_dataset.Identifier(**each) for each in given["identifiers"]]}
    if name == "parent":
        run = parent_run.Run(given["run"]["runId"], facets=None)
        return {"run": run, "job": parent_run.Job(**given["job"], facets=None)}
    return given


def _inputs(fields: list[dict[str, Any]]) -> list[column_lineage_dataset.InputField]:
    transformation = column_lineage_dataset.Transformation
    return [
        column_lineage_dataset.InputField(
            field["namespace"], field["name"], field["field"], [transformation(**t) for t in field["transformations"]]
        )
        for field in fields
    ]


@pytest.mark.parametrize(
    ("event", "state"),
    [(updated(), "START"), (completed(), "COMPLETE"), (completed(failure_info=FAILURE), "FAIL")],
    ids=["start", "complete", "fail"],
)
def test_events_are_those_of_the_clients_models(event: Any, state: Any) -> None:
    made = run_event(event, state, NAMING)
    for facets in (made["run"]["facets"], made["job"]["facets"]):
        checked(facets)
    for dataset in (*made["inputs"], *made["outputs"]):
        checked(dataset["facets"])
        checked(dataset.get("outputFacets", {}))
    model = event_v2.RunEvent(
        eventTime=made["eventTime"],
        producer=made["producer"],
        run=event_v2.Run(made["run"]["runId"]),
        job=event_v2.Job(made["job"]["namespace"], made["job"]["name"]),
        eventType=event_v2.RunState[state],
        inputs=[event_v2.InputDataset(d["namespace"], d["name"]) for d in made["inputs"]],
        outputs=[event_v2.OutputDataset(d["namespace"], d["name"]) for d in made["outputs"]],
    )
    written = json.loads(Serde.to_json(model))
    assert {key: written[key] for key in ("eventType", "eventTime", "producer", "schemaURL")} == {
        key: made[key] for key in ("eventType", "eventTime", "producer", "schemaURL")
    }
    assert [d["name"] for d in written["inputs"]] == ["lake.db.orders"]
    assert [d["name"] for d in written["outputs"]] == ["lake.db.totals"]


def test_what_the_facets_say() -> None:
    made = run_event(completed(failure_info=None), "COMPLETE", NAMING)
    (read,), (written,) = made["inputs"], made["outputs"]
    assert read["namespace"] == PLACE
    assert read["facets"]["version"]["datasetVersion"] == str(8_765_432_109_876_543_210 % 2**63)
    assert [field["name"] for field in read["facets"]["schema"]["fields"]] == ["price", "day"]
    lineage = written["facets"]["columnLineage"]
    (price,) = lineage["fields"]["total"]["inputFields"]
    assert (price["name"], price["field"]) == ("lake.db.orders", "price")
    assert price["transformations"][0]["subtype"] == "AGGREGATION"
    assert lineage["dataset"][0]["transformations"][0]["type"] == "INDIRECT"
    assert written["outputFacets"]["outputStatistics"]["rowCount"] == 7
    failed = run_event(completed(failure_info=FAILURE), "FAIL", NAMING)
    assert failed["run"]["facets"]["errorMessage"]["message"] == "DIVISION_BY_ZERO: / by zero"
    assert "outputFacets" not in failed["outputs"][0]


def defining(
    operation: str, lifecycle: Any, previous: str | None = None, columns: tuple[OutputColumn, ...] = ()
) -> Any:
    output = QueryOutput(
        catalog_name="lake",
        schema="db",
        table="t",
        operation=operation,
        lifecycle=lifecycle,
        previous_name=previous,
        columns=columns,
    )
    io = QueryIOMetadata(
        inputs=(
            QueryInput(catalog_name="lake", schema="db", table="o", columns=(InputColumn(name="price", type=""),)),
        ),
        output=output,
    )
    return completed(query_type="DATA_DEFINITION", io_metadata=io)


@pytest.mark.parametrize("lifecycle", get_args(LifecycleChange))
def test_definitions_say_what_becomes_of_a_table(lifecycle: str) -> None:
    """Each of OpenLineage's words, in the client's model; nothing was written."""
    previous = "db.was" if lifecycle == "RENAME" else None
    made = run_event(defining("X", lifecycle, previous), "COMPLETE", NAMING)
    (written,) = made["outputs"]
    checked(written["facets"])
    facet = written["facets"]["lifecycleStateChange"]
    assert facet["lifecycleStateChange"] == lifecycle
    before = {"name": "lake.db.was", "namespace": PLACE} if previous else None
    assert facet.get("previousIdentifier") == before
    assert (written["name"], "outputFacets" in written) == ("lake.db.t", False)
    (read,) = made["inputs"]
    checked(read["facets"])
    assert read["facets"]["schema"]["fields"] == [{"name": "price"}], "the type is not known"


@pytest.mark.parametrize(
    ("location", "namespace", "name"),
    [
        ("s3a://bucket/wh/db/t/", "s3://bucket", "wh/db/t"),
        ("gs://bucket/wh/t", "gs://bucket", "wh/t"),
        ("abfss://box@store.dfs.core.windows.net/wh/t", "abfss://box@store.dfs.core.windows.net", "wh/t"),
        ("hdfs://name:8020/wh/t", "hdfs://name:8020", "/wh/t"),
        ("file:///wh/t", "file", "/wh/t"),
        ("/wh/t", "file", "/wh/t"),
    ],
)
def test_folders_are_symlinks_as_openlineage_names_files(location: str, namespace: str, name: str) -> None:
    """https://openlineage.io/docs/spec/naming"""
    io = replace(IO, inputs=(replace(IO.inputs[0], location=location),), output=replace(IO.output, location=location))
    made = run_event(completed(io_metadata=io), "COMPLETE", NAMING)
    for dataset in (*made["inputs"], *made["outputs"]):
        checked(dataset["facets"])
        (symlink,) = dataset["facets"]["symlinks"]["identifiers"]
        assert symlink == {"namespace": namespace, "name": name, "type": "LOCATION"}


@pytest.mark.parametrize(
    ("tag", "expected"),
    [
        ("airflow/dag.task/01941c29-7c00-7000-8000-000000000001", ("airflow", "dag.task")),
        (
            "https://flows.example.com/a/dag.task/01941c29-7c00-7000-8000-000000000001",
            ("https://flows.example.com/a", "dag.task"),
        ),
        ("airflow/dag.task/no-uuid", None),
        ("01941c29-7c00-7000-8000-000000000001", None),
        ("", None),
    ],
)
def test_a_client_says_of_which_run_it_is_part(tag: str, expected: tuple[str, str] | None) -> None:
    event = completed(context={"client_tags": ("nightly", f"openlineage.parent={tag}")})
    facets = run_event(event, "COMPLETE", NAMING)["run"]["facets"]
    checked(facets)
    parent = facets.get("parent")
    assert (parent and (parent["job"]["namespace"], parent["job"]["name"])) == expected


def test_run_ids_are_the_clients_static_ones() -> None:
    assert run_id(CREATED, "20261123_060000_00001_abcde") == generate_static_uuid(
        CREATED, b"20261123_060000_00001_abcde"
    )


class Kept:
    def __init__(self) -> None:
        self.sent: list[Mapping[str, Any]] = []

    def send(self, event: Mapping[str, Any]) -> None:
        self.sent.append(event)

    def close(self) -> None:
        return


def test_every_start_has_its_end_and_excluded_types_have_none() -> None:
    kept = Kept()
    listener = OpenLineageListener(NAMING, frozenset(DEFAULT_TYPES), kept)
    listener.receive([created(), updated(), completed(), progress()])
    listener.receive([completed("select", query_type="SELECT"), completed("unplanned", query_type=None)])
    listener.receive([completed("quick", failure_info=FAILURE)])
    told = [(event["eventType"], event["job"]["name"]) for event in kept.sent]
    assert told == [("START", "q1"), ("COMPLETE", "q1"), ("START", "quick"), ("FAIL", "quick")]
    assert len({event["run"]["runId"] for event in kept.sent}) == 2


@respx.mock
@pytest.mark.slow
def test_http_transport() -> None:
    route = respx.post("http://lineage.example.com:5000/api/v2/lineage?team=data")
    route.side_effect = [httpx.Response(503), httpx.Response(201), httpx.Response(201)]
    prefix = "openlineage-event-listener."
    listener = OpenLineageProvider().create(
        {
            f"{prefix}transport.type": "HTTP",
            f"{prefix}transport.url": "http://lineage.example.com:5000",
            f"{prefix}transport.endpoint": "/api/v2/lineage",
            f"{prefix}transport.api-key": "sesame",
            f"{prefix}transport.url-params": "team:data",
            f"{prefix}transport.compression": "gzip",
            f"{prefix}trino.uri": "https://lake.example.com:8443",
            f"{prefix}job.name-format": "$SOURCE-$USER",
            f"{prefix}disabled-facets": "trino_query_statistics",
        },
        service(),
    )
    listener.receive([completed()])
    listener.close()
    assert route.calls[0].request.headers["Authorization"] == "Bearer sesame"
    start, end = (json.loads(gzip.decompress(route.calls[at].request.content)) for at in (1, 2))
    assert (start["eventType"], end["eventType"], end["job"]["name"]) == ("START", "COMPLETE", "dbt-ann")
    assert end["job"]["namespace"] == "trino://lake.example.com:8443"
    assert "trino_query_statistics" not in end["run"]["facets"]
    assert "trino_metadata" in end["run"]["facets"]
