"""Configuration files: typed values, and errors that name file and line."""

from pathlib import Path

import pytest

from coordinator.config import CoordinatorSettings, read_config
from coordinator.dispatch.settings import DispatchSettings
from coordinator.values.settings_files import parse_settings
from shared.properties import ConfigurationError, read_properties


def write(directory: Path, name: str, text: str) -> Path:
    file = directory / name
    file.parent.mkdir(parents=True, exist_ok=True)
    file.write_text(text)
    return file


def test_values_are_typed_with_prestos_units(tmp_path: Path) -> None:
    file = write(tmp_path, "config.properties", "http-server.http.port=9090\nquery.client.timeout=2.5m\n")
    read = read_properties(file)
    assert parse_settings(CoordinatorSettings, read).http_port == 9090
    assert parse_settings(DispatchSettings, read).client_timeout == 150.0


def test_unknown_key_names_file_and_line(tmp_path: Path) -> None:
    write(tmp_path, "config.properties", "# comment\nhttp-server.http.port=0\nhttp-server.prot=1\n")
    with pytest.raises(ConfigurationError, match=r"config\.properties:3: unknown property 'http-server\.prot'"):
        read_config(tmp_path)


@pytest.mark.parametrize(
    ("line", "problem"),
    [
        ("http-server.http.port=eighty", "invalid value 'eighty' for 'http-server.http.port'"),
        ("query.client.timeout=5 parsecs", "duration is not a valid data duration string: 5 parsecs"),
        ("query.max-replay-size=67108864", "': size is not a valid data size string: 67108864 .*such as 64MB"),
        ("query.max-lenght=1000", "unknown property 'query.max-lenght'; did you mean query.max-length[?]$"),
        ("http-server.http.port=70000", "less than or equal to 65535"),
        ("just words", "name=value|unknown property"),
    ],
)
def test_wrong_value_names_file_and_line(tmp_path: Path, line: str, problem: str) -> None:
    write(tmp_path, "config.properties", f"\n{line}\n")
    with pytest.raises(ConfigurationError, match=rf"config\.properties:2: .*({problem})"):
        read_config(tmp_path)


def test_duplicate_key(tmp_path: Path) -> None:
    write(tmp_path, "config.properties", "query.max-length=5\nquery.max-length=6\n")
    with pytest.raises(ConfigurationError, match=r":2: duplicate property 'query\.max-length' \(first on line 1\)"):
        read_config(tmp_path)


def test_environment_variable(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    file = write(tmp_path, "config.properties", "http-server.http.port=${ENV:PROCESSION_TEST_PORT}\n")
    with pytest.raises(ConfigurationError, match="PROCESSION_TEST_PORT is not set"):
        read_properties(file)
    monkeypatch.setenv("PROCESSION_TEST_PORT", "1234")
    assert parse_settings(CoordinatorSettings, read_properties(file)).http_port == 1234


def test_missing_directory(tmp_path: Path) -> None:
    with pytest.raises(ConfigurationError, match="no such configuration directory"):
        read_config(tmp_path / "nowhere")


def test_unknown_connector(tmp_path: Path) -> None:
    write(tmp_path, "config.properties", "")
    write(tmp_path, "catalog/lake.properties", "\nconnector.name=hudi\n")
    with pytest.raises(ConfigurationError, match=r"lake\.properties:2: no connector is named 'hudi'"):
        read_config(tmp_path)


def test_missing_connector_name(tmp_path: Path) -> None:
    write(tmp_path, "config.properties", "")
    write(tmp_path, "catalog/lake.properties", "")
    with pytest.raises(ConfigurationError, match=r"connector\.name is missing"):
        read_config(tmp_path)
