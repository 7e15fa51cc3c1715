"""What keeps a coordinator from being one of several is one clear line, which shows no password."""

from __future__ import annotations

from pathlib import Path

import pytest

from coordinator.clustering import load_clustering
from coordinator.config import read_config
from shared.properties import ConfigurationError

PASSWORD = "open-sesame-42"
SECRET = "internal-communication.shared-secret=s\n"


@pytest.mark.parametrize(
    ("lines", "problem"),
    [
        (f"state.url=postgresql://u:{PASSWORD}@127.0.0.1:1/d\n", "needs internal-communication.shared-secret"),
        (f"state.url=mysql://u:{PASSWORD}@h/d\n" + SECRET, "state.url is not of the form postgresql://"),
        (f"state.url=postgresql://u:{PASSWORD}@h:port/d\n" + SECRET, "state.url is not of the form postgresql://"),
        (f"state.url=postgresql://u:{PASSWORD}@127.0.0.1:1/d\n" + SECRET, "the database of state.url cannot be used"),
        (
            f"state.url=postgresql://u:{PASSWORD}@h/d\ncluster.heartbeat-interval=5s\ncluster.node-timeout=10s\n"
            + SECRET,
            "cluster.node-timeout is less than three times",
        ),
    ],
)
def test_wrong_settings(tmp_path: Path, lines: str, problem: str) -> None:
    (tmp_path / "config.properties").write_text(lines)
    with pytest.raises(ConfigurationError) as found:
        load_clustering(read_config(tmp_path), "http://127.0.0.1:8080", "1", lambda _name, _suffix: None)
    assert problem in str(found.value)
    assert PASSWORD not in str(found.value)


def test_without_a_database_there_is_one(tmp_path: Path) -> None:
    (tmp_path / "config.properties").write_text("")
    assert load_clustering(read_config(tmp_path), "http://127.0.0.1:8080", "1", lambda _name, _suffix: None) is None
