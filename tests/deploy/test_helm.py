"""The Helm chart, rendered: what it makes is read as a coordinator reads it, and is what the plain manifests are.

Renderings are kept in tests/data/helm, with a digest of the chart, so that they are checked where there is no Helm;
where there is one (on PATH), they are made again and compared. ``BLESS=1`` writes them.
"""

from __future__ import annotations

import hashlib
import os
import shutil
import subprocess
from pathlib import Path
from typing import Any

import pytest
import yaml

from coordinator.checks.providers import load_plan_checkers
from coordinator.config import CoordinatorConfig, read_config
from coordinator.server.authentication import _OPEN
from sidecar.__main__ import arguments

ROOT = Path(__file__).parents[2]
CHART = ROOT / "deploy" / "helm" / "procession"
KEPT = ROOT / "tests" / "data" / "helm"
CASES = ("default", "full")
HELM = shutil.which("helm")
Objects = dict[tuple[str, str], Any]


def digest() -> str:
    found = hashlib.sha256()
    for file in sorted(path for path in CHART.rglob("*") if path.is_file()):
        found.update(f"{file.relative_to(CHART)}\0".encode() + file.read_bytes() + b"\0")
    return found.hexdigest()


def rendered(case: str, *more: str) -> subprocess.CompletedProcess[str]:
    assert HELM is not None
    values = str(KEPT / f"values-{case}.yaml")
    command = [HELM, "template", "demo", str(CHART), "--kube-version", "1.31", "--values", values, *more]
    return subprocess.run(command, capture_output=True, text=True, timeout=60, check=False)


@pytest.mark.parametrize("case", CASES)
def test_the_renderings_are_of_this_chart(case: str) -> None:
    file = KEPT / f"{case}.yaml"
    if HELM is not None:
        made = rendered(case)
        assert made.returncode == 0, made.stderr
        content = f"# chart {digest()}\n{made.stdout}"
        if os.environ.get("BLESS"):
            file.write_text(content)
        assert file.read_text() == content, "BLESS=1 makes it again"
    assert file.read_text().splitlines()[0] == f"# chart {digest()}", "the chart changed: render it with Helm (BLESS=1)"


@pytest.mark.skipif(HELM is None, reason="no helm on PATH")
def test_several_coordinators_need_a_database() -> None:
    refused = rendered("default", "--set", "state.enabled=false")
    assert "coordinator.replicas above 1 needs state.enabled=true" in refused.stderr
    assert rendered("default", "--set", "state.enabled=false,coordinator.replicas=1").returncode == 0


def objects(case: str) -> Objects:
    found = yaml.safe_load_all((KEPT / f"{case}.yaml").read_text())
    return {(each["kind"], each["metadata"]["name"]): each for each in found}


class Rendering:
    def __init__(self, case: str) -> None:
        self.objects = objects(case)
        self.name = "sql" if case == "full" else "demo-procession"
        self.stateful = self.objects["StatefulSet", f"{self.name}-coordinator"]
        self.pod = self.stateful["spec"]["template"]
        [self.sidecar], [self.coordinator] = self.pod["spec"]["initContainers"], self.pod["spec"]["containers"]

    def volume(self, name: str) -> Any:
        return next(each for each in self.pod["spec"]["volumes"] if each["name"] == name)


@pytest.fixture(params=CASES)
def made(request: pytest.FixtureRequest) -> Rendering:
    return Rendering(request.param)


@pytest.fixture
def config(made: Rendering, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> CoordinatorConfig:
    """What a coordinator reads in its container: every line is of a known setting."""
    for entry in made.coordinator["env"]:
        monkeypatch.setenv(entry["name"], "s3cret")
    monkeypatch.setenv("POD_NAME", "pod-0")
    monkeypatch.setenv("STATE_URL", "postgresql://procession:s3cret@postgres:5432/procession")
    for source in made.volume("etc")["projected"]["sources"]:
        data = made.objects["ConfigMap", source["configMap"]["name"]]["data"]
        for item in source["configMap"].get("items") or [{"key": key, "path": key} for key in data]:
            file = tmp_path / item["path"]
            file.parent.mkdir(exist_ok=True)
            file.write_text(data[item["key"]].replace("/opt/procession/etc", str(tmp_path)))
    return read_config(tmp_path)


def test_the_configuration(made: Rendering, config: CoordinatorConfig) -> None:
    headless = made.stateful["spec"]["serviceName"]
    assert made.objects["Service", headless]["spec"]["clusterIP"] == "None"
    assert made.objects["Service", headless]["spec"]["publishNotReadyAddresses"]
    assert config.node.internal_address == f"pod-0.{headless}"
    assert config.cluster.state_url is not None
    assert "s3cret" in config.cluster.state_url
    assert config.internal.shared_secret == "s3cret"
    wanted = {"lake"} if made.name != "sql" else {"lake", "tpch"}
    assert {catalog.name for catalog in config.catalogs} == wanted
    known = {"native": {"native-plan-checker.sidecar-uri": "http://127.0.0.1:7778"}}
    assert load_plan_checkers(config.etc / "plan-checker-providers", known)


def test_what_values_say(tmp_path: Path) -> None:
    full = Rendering("full")
    assert full.stateful["spec"]["replicas"] == 3
    assert full.coordinator["image"] == "registry.example.com/procession-coordinator:1.2.3"
    labels = full.pod["metadata"]["labels"]
    assert (labels["team"], labels["tier"]) == ("data", "sql")
    assert {mount["name"] for mount in full.coordinator["volumeMounts"]} == {
        "etc",
        "data",
        "tmp",
        "tls",
        "maps",
        "cache",
    }
    assert full.pod["spec"]["serviceAccountName"] == "sql"
    assert ("ServiceAccount", "sql") in full.objects
    assert full.objects["Ingress", "sql"]["spec"]["rules"][0]["host"] == "sql.example.com"
    monitored = full.objects["ServiceMonitor", "sql"]["spec"]["selector"]["matchLabels"]
    services = [each for (kind, _), each in full.objects.items() if kind == "Service"]
    assert sum(monitored.items() <= each["metadata"]["labels"].items() for each in services) == 1, "each pod once"
    [endpoint] = full.objects["ServiceMonitor", "sql"]["spec"]["endpoints"]
    assert (endpoint["port"], endpoint["path"], endpoint["interval"]) == ("http", "/metrics", "30s")
    assert endpoint["basicAuth"]["password"] == {"name": "metrics", "key": "password"}
    data = full.objects["ConfigMap", "sql-etc"]["data"]
    assert "http-server.process-forwarded=false" in data["config.properties"]
    assert "allow-unauthenticated" not in data["config.properties"]
    assert "audit-log.required=true" in data["config.properties"]
    for file in ("access-control", "resource-groups", "event-listener", "maintenance", "session-property-config"):
        assert f"{file}.properties" in data


def test_a_restart_waits_for_what_runs(made: Rendering, config: CoordinatorConfig) -> None:
    assert config.coordinator.drain_on_sigterm
    assert made.pod["spec"]["terminationGracePeriodSeconds"] > 10 * config.coordinator.shutdown_grace_period
    assert made.sidecar["restartPolicy"] == "Always", "it ends after the coordinator"
    assert "sleep(5)" in made.coordinator["lifecycle"]["preStop"]["exec"]["command"][-1]
    budget = made.objects["PodDisruptionBudget", f"{made.name}-coordinator"]["spec"]["maxUnavailable"]
    assert budget < made.stateful["spec"]["replicas"]


def test_probes_and_ports(made: Rendering, config: CoordinatorConfig) -> None:
    probes = [probe for key, probe in made.coordinator.items() if key.endswith("Probe")]
    assert len(probes) == 3
    assert {probe["httpGet"]["path"] for probe in probes} <= _OPEN
    assert made.coordinator["readinessProbe"]["httpGet"]["path"] == "/v1/info/coordinator"
    [port] = made.coordinator["ports"]
    assert port["containerPort"] == config.coordinator.http_port
    for service in (made.name, f"{made.name}-coordinators"):
        [served] = made.objects["Service", service]["spec"]["ports"]
        assert served["targetPort"] == port["name"]
    [rule] = made.objects["NetworkPolicy", f"{made.name}-coordinator"]["spec"]["ingress"]
    assert [allowed["port"] for allowed in rule["ports"]] == [config.coordinator.http_port]
    assert {"podSelector": {"matchLabels": made.stateful["spec"]["selector"]["matchLabels"]}} in rule["from"]


def test_the_sidecar_listens_in_its_pod_alone(made: Rendering, config: CoordinatorConfig) -> None:
    parsed = arguments().parse_args([*made.sidecar["args"]])
    assert config.coordinator.sidecar_url == f"http://{parsed.host}:{parsed.port}"
    [secret] = made.volume("shared-secret")["secret"]["items"]
    mounted = next(m["mountPath"] for m in made.sidecar["volumeMounts"] if m["name"] == "shared-secret")
    assert str(parsed.shared_secret_file) == f"{mounted}/{secret['path']}"


def test_least_privilege(made: Rendering) -> None:
    plain = next(
        each
        for each in yaml.safe_load_all((ROOT / "deploy" / "kubernetes" / "coordinator.yaml").read_text())
        if each["kind"] == "StatefulSet"
    )["spec"]["template"]["spec"]
    assert made.pod["spec"]["securityContext"] == plain["securityContext"]
    assert made.pod["spec"]["automountServiceAccountToken"] is False
    for container in (made.sidecar, made.coordinator):
        assert container["securityContext"] == plain["containers"][0]["securityContext"]
        assert container["resources"]["limits"]["memory"]
        declared = {each["name"] for each in made.pod["spec"]["volumes"]}
        declared |= {each["metadata"]["name"] for each in made.stateful["spec"]["volumeClaimTemplates"]}
        assert {mount["name"] for mount in container["volumeMounts"]} <= declared
        assert "tmp" in {mount["name"] for mount in container["volumeMounts"]}, "the file system is read-only"


def test_selectors_find_the_pods(made: Rendering) -> None:
    labels = made.pod["metadata"]["labels"]
    for (kind, _), found in made.objects.items():
        spec = found.get("spec", {})
        if kind in ("StatefulSet", "PodDisruptionBudget"):
            assert spec["selector"]["matchLabels"].items() <= labels.items()
        if kind == "Service":
            assert spec["selector"].items() <= labels.items()
        if kind == "NetworkPolicy":
            assert spec["podSelector"]["matchLabels"].items() <= labels.items()


def test_every_value_is_used() -> None:
    """A value that no template names would be set in vain."""
    texts = "".join(file.read_text() for file in (CHART / "templates").iterdir())
    values = yaml.safe_load((CHART / "values.yaml").read_text())

    def paths(value: Any, path: str) -> list[str]:
        if isinstance(value, dict) and value and f".Values{path}" not in texts.replace(f".Values{path}.", ""):
            return [deeper for key, inner in value.items() for deeper in paths(inner, f"{path}.{key}")]
        return [path]

    assert [path for path in paths(values, "") if f".Values{path}" not in texts] == []
    page = (ROOT / "docs" / "helm.md").read_text()
    secrets = (values["internalCommunication"]["sharedSecretKey"], values["state"]["urlKey"])
    assert all(f"--from-literal={key}=" in page for key in secrets)
