"""deploy/kubernetes, as far as it can be checked without a cluster: what one manifest names, another has."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
import yaml

from coordinator.checks.providers import load_plan_checkers
from coordinator.config import CoordinatorConfig, read_config
from coordinator.server.authentication import _OPEN
from sidecar.__main__ import arguments

ROOT = Path(__file__).parents[2]
FOLDER = ROOT / "deploy" / "kubernetes"
OBJECTS = {
    (each["kind"], each["metadata"]["name"]): each
    for file in sorted(FOLDER.glob("*.yaml"))
    for each in yaml.safe_load_all(file.read_text())
}
POD = OBJECTS["StatefulSet", "procession-coordinator"]["spec"]["template"]
[SIDECAR], [COORDINATOR] = POD["spec"]["initContainers"], POD["spec"]["containers"]
PROBES = [probe for key, probe in COORDINATOR.items() if key.endswith("Probe")]


def volume(name: str) -> Any:
    return next(each for each in POD["spec"]["volumes"] if each["name"] == name)


@pytest.fixture
def config(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> CoordinatorConfig:
    """What the coordinator reads in its container."""
    for entry in COORDINATOR["env"]:
        monkeypatch.setenv(entry["name"], "procession-coordinator-0" if entry["name"] == "POD_NAME" else "s3cret")
    for source in volume("etc")["projected"]["sources"]:
        data = OBJECTS["ConfigMap", source["configMap"]["name"]]["data"]
        for item in source["configMap"].get("items") or [{"key": key, "path": key} for key in data]:
            file = tmp_path / item["path"]
            file.parent.mkdir(exist_ok=True)
            file.write_text(data[item["key"]])
    return read_config(tmp_path)


def test_the_configuration_is_that_of_one_of_several(config: CoordinatorConfig) -> None:
    assert config.node.node_id == "procession-coordinator-0"
    headless = OBJECTS["StatefulSet", "procession-coordinator"]["spec"]["serviceName"]
    assert OBJECTS["Service", headless]["spec"]["clusterIP"] == "None"
    assert config.node.internal_address == f"procession-coordinator-0.{headless}"
    assert config.cluster.state_url is not None
    assert "s3cret" in config.cluster.state_url
    assert config.internal.shared_secret == "s3cret"
    assert [catalog.name for catalog in config.catalogs] == ["lake"]
    known = {"native": {"native-plan-checker.sidecar-uri": "http://127.0.0.1:7778"}}
    assert load_plan_checkers(config.etc / "plan-checker-providers", known)
    assert "s3cret" not in "".join(file.read_text() for file in FOLDER.glob("*.yaml"))


def test_every_map_is_used_whole() -> None:
    used = {source["configMap"]["name"]: source["configMap"] for source in volume("etc")["projected"]["sources"]}
    for (kind, name), found in OBJECTS.items():
        if kind == "ConfigMap":
            items = used[name].get("items")
            assert items is None or {item["key"] for item in items} == set(found["data"])


def test_a_restart_waits_for_what_runs(config: CoordinatorConfig) -> None:
    assert config.coordinator.drain_on_sigterm
    assert POD["spec"]["terminationGracePeriodSeconds"] > 10 * config.coordinator.shutdown_grace_period
    # The sidecar ends after the coordinator, which checks statements until then.
    assert SIDECAR["restartPolicy"] == "Always"
    budget = OBJECTS["PodDisruptionBudget", "procession-coordinator"]["spec"]["minAvailable"]
    assert budget < OBJECTS["StatefulSet", "procession-coordinator"]["spec"]["replicas"]


def test_probes_ask_what_is_open_and_depends_on_nothing(config: CoordinatorConfig) -> None:
    assert len(PROBES) == 3
    assert {probe["httpGet"]["path"] for probe in PROBES} <= _OPEN
    assert COORDINATOR["readinessProbe"]["httpGet"]["path"] == "/v1/info/coordinator"
    [port] = COORDINATOR["ports"]
    assert port["containerPort"] == config.coordinator.http_port
    for service in ("procession", "procession-coordinators"):
        [served] = OBJECTS["Service", service]["spec"]["ports"]
        assert (served["port"], served["targetPort"]) == (config.coordinator.http_port, port["name"])
    [rule] = OBJECTS["NetworkPolicy", "procession-coordinator"]["spec"]["ingress"]
    assert [allowed["port"] for allowed in rule["ports"]] == [config.coordinator.http_port]


def test_the_sidecar_listens_in_its_pod_alone(config: CoordinatorConfig) -> None:
    parsed = arguments().parse_args([*SIDECAR["args"]])
    assert config.coordinator.sidecar_url == f"http://{parsed.host}:{parsed.port}"
    assert parsed.host == "127.0.0.1"
    [secret] = volume("shared-secret")["secret"]["items"]
    mounted = next(m["mountPath"] for m in SIDECAR["volumeMounts"] if m["name"] == "shared-secret")
    assert str(parsed.shared_secret_file) == f"{mounted}/{secret['path']}"


@pytest.mark.parametrize("container", [SIDECAR, COORDINATOR], ids=["sidecar", "coordinator"])
def test_least_privilege(container: dict[str, Any]) -> None:
    pod = POD["spec"]["securityContext"]
    assert (pod["runAsNonRoot"], pod["seccompProfile"]["type"]) == (True, "RuntimeDefault")
    dockerfile = (ROOT / "docker" / "coordinator.Dockerfile").read_text()
    assert f"--uid {pod['runAsUser']} " in dockerfile
    assert container["securityContext"] == {
        "allowPrivilegeEscalation": False,
        "readOnlyRootFilesystem": True,
        "capabilities": {"drop": ["ALL"]},
    }
    assert POD["spec"]["automountServiceAccountToken"] is False
    assert container["resources"]["limits"]["memory"]
    declared = {each["name"] for each in POD["spec"]["volumes"]}
    claimed = OBJECTS["StatefulSet", "procession-coordinator"]["spec"]["volumeClaimTemplates"]
    declared |= {each["metadata"]["name"] for each in claimed}
    assert {mount["name"] for mount in container["volumeMounts"]} <= declared
    # What is written goes where something is mounted.
    assert "tmp" in {mount["name"] for mount in container["volumeMounts"]}


def test_secrets_are_told_where_they_are_made() -> None:
    named = {e["valueFrom"]["secretKeyRef"]["key"] for e in COORDINATOR["env"] if "secretKeyRef" in e["valueFrom"]}
    page = (ROOT / "docs" / "several-coordinators.md").read_text()
    for key in named | {"shared-secret"}:
        assert f"--from-literal={key}=" in page


def test_selectors_find_the_pods() -> None:
    labels = POD["metadata"]["labels"]
    for (kind, _), found in OBJECTS.items():
        spec = found.get("spec", {})
        if kind in ("StatefulSet", "PodDisruptionBudget"):
            assert spec["selector"]["matchLabels"].items() <= labels.items()
        if kind == "Service":
            assert spec["selector"].items() <= labels.items()
        if kind == "NetworkPolicy":
            assert spec["podSelector"]["matchLabels"].items() <= labels.items()
