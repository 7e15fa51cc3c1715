"""docker-compose.yml and the images, resolved as far as that goes without a daemon: every path, port, command and
variable that one part names must exist in the other."""

import os
import re
import shlex
from pathlib import Path

import pytest
import yaml
from typer.main import get_command

from coordinator.checks.providers import load_plan_checkers
from coordinator.cli.main import app
from coordinator.config import read_config
from sidecar.__main__ import arguments

ROOT = Path(__file__).parents[2]
COMPOSE = yaml.safe_load((ROOT / "docker-compose.yml").read_text())
SERVICES = COMPOSE["services"]
BUILT = sorted(name for name, service in SERVICES.items() if "build" in service)


def dockerfile(service: str) -> list[tuple[str, str]]:
    """``(instruction, argument)`` with continued lines joined."""
    text = (ROOT / SERVICES[service]["build"]["dockerfile"]).read_text().replace("\\\n", " ")
    lines = [line for line in text.splitlines() if line.strip() and not line.startswith("#")]
    assert all(re.match(r"[A-Z]+ |\s", line) for line in lines)
    return [(line.split(None, 1)[0], line.split(None, 1)[1].strip()) for line in lines]


def argument(service: str, instruction: str) -> str:
    return next(text for name, text in dockerfile(service) if name == instruction)


def environment(service: str) -> dict[str, str]:
    text = (ROOT / SERVICES[service]["env_file"]).read_text()
    pairs = [line.split("=", 1) for line in text.splitlines() if line and not line.startswith("#")]
    return dict(pairs)


@pytest.fixture
def container_config(monkeypatch):
    for name, value in environment("coordinator").items():
        monkeypatch.setenv(name, value)
    return read_config(ROOT / "docker" / "etc")


def test_the_five_parts_are_there_and_each_runs_under_init() -> None:
    assert set(SERVICES) == {"coordinator", "sidecar", "spark", "postgres", "s3"}
    assert all(service["init"] is True for service in SERVICES.values())


def test_every_part_has_a_health_check_and_no_part_runs_as_root() -> None:
    for name, service in SERVICES.items():
        if name in BUILT:
            assert argument(name, "HEALTHCHECK"), name
            assert argument(name, "USER") not in ("root", "0")
        else:
            assert service["healthcheck"]["test"][0] == "CMD"
            assert service["user"] not in ("root", "0")


@pytest.mark.parametrize("service", BUILT)
def test_every_copied_path_exists(service: str) -> None:
    for instruction, text in dockerfile(service):
        if instruction == "COPY":
            for source in text.split()[:-1]:
                assert (ROOT / source).exists(), source


@pytest.mark.parametrize("service", BUILT)
def test_health_checks_ask_the_exposed_port(service: str) -> None:
    assert re.search(rf"\b{argument(service, 'EXPOSE')}\b", argument(service, "HEALTHCHECK"))


def test_dependencies_and_volumes_are_declared() -> None:
    used = set()
    for service in SERVICES.values():
        for name, condition in service.get("depends_on", {}).items():
            assert name in SERVICES
            assert condition == {"condition": "service_healthy"}
        used |= {volume.split(":")[0] for volume in service.get("volumes", [])}
    assert used == set(COMPOSE["volumes"])


def test_configuration_of_the_container_is_valid_and_names_the_other_services(container_config) -> None:
    settings = container_config.coordinator
    assert argument("coordinator", "EXPOSE") == str(settings.http_port)
    assert SERVICES["coordinator"]["ports"] == [f"127.0.0.1:{settings.http_port}:{settings.http_port}"]
    assert settings.http_host == "0.0.0.0"
    assert settings.sidecar_url == f"http://sidecar:{argument('sidecar', 'EXPOSE')}"
    assert container_config.spark.remote == f"sc://spark:{argument('spark', 'EXPOSE')}"
    volume = SERVICES["coordinator"]["volumes"][0].split(":")[1]
    assert str(container_config.node.data_dir) == volume


def test_catalog_points_at_postgres_and_s3_of_the_file(container_config) -> None:
    catalog = next(catalog for catalog in container_config.catalogs if catalog.name == "iceberg")
    values = {name: entry.value for name, entry in catalog.properties.items()}
    server = environment("postgres")
    assert values["iceberg.catalog.uri"] == f"postgresql://postgres:5432/{server['POSTGRES_DB']}"
    assert values["iceberg.catalog.user"] == server["POSTGRES_USER"]
    assert values["iceberg.catalog.password"] == server["POSTGRES_PASSWORD"]
    assert values["s3.endpoint"] == f"http://s3:{argument('s3', 'EXPOSE')}"
    bucket = re.search(r'"--bucket", "([a-z]+)"', argument("s3", "CMD"))
    assert bucket is not None
    assert values["iceberg.catalog.warehouse"].startswith(f"s3://{bucket[1]}/")
    assert f"--username={server['POSTGRES_USER']}" in SERVICES["postgres"]["healthcheck"]["test"]


def test_commands_of_the_images_are_commands_of_ours() -> None:
    assert argument("coordinator", "ENTRYPOINT") == '["procession"]'
    command, *flags = yaml.safe_load(argument("coordinator", "CMD"))
    known = get_command(app).commands[command]  # type: ignore[attr-defined]
    assert flags[0] in known.params[0].opts + known.params[0].secondary_opts
    assert flags[1] == f"{argument('coordinator', 'WORKDIR')}/etc"
    assert argument("sidecar", "ENTRYPOINT") == '["python", "-m", "sidecar"]'
    parsed = arguments().parse_args(yaml.safe_load(argument("sidecar", "CMD")))
    assert (parsed.host, str(parsed.port)) == ("0.0.0.0", argument("sidecar", "EXPOSE"))


def test_spark_start_script_matches_the_tested_versions() -> None:
    script = (ROOT / "docker" / "start-spark-connect.sh").read_text()
    default = (ROOT / "coordinator" / "engine" / "spark" / "settings.py").read_text()
    words = shlex.split(script.replace("\\\n", " "), comments=True)
    assert f"spark.connect.grpc.binding.port={argument('spark', 'EXPOSE')}" in words
    packages = words[words.index("--packages") + 1].split(",")
    for package in packages:
        if "iceberg-aws-bundle" not in package:
            assert package in default
    runtime = next(p for p in packages if "iceberg-spark-runtime" in p)
    assert f"org.apache.iceberg:iceberg-aws-bundle:{runtime.rpartition(':')[2]}" in packages
    for name in re.findall(r"\$\{([A-Z_]+):-", script):
        assert name in SERVICES["spark"]["environment"]
    assert os.access(ROOT / "docker" / "start-spark-connect.sh", os.R_OK)


@pytest.mark.parametrize(("etc", "catalogs"), [("etc", ["iceberg", "tpch"]), ("docker/etc", ["iceberg", "tpch"])])
def test_sample_configurations_are_valid(etc: str, catalogs: list[str], container_config) -> None:
    config = read_config(ROOT / etc)
    assert [catalog.name for catalog in config.catalogs] == catalogs
    defaults = {"native": {"native-plan-checker.sidecar-uri": "http://sidecar:7778"}}
    assert load_plan_checkers(ROOT / etc / "plan-checker-providers", defaults)
