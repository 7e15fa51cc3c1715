"""Spark's own settings in etc/config.properties and in sessions."""

from pathlib import Path

import pytest

from coordinator.config import read_config
from coordinator.engine.spark.our_classes import ICEBERG_EXTENSIONS, OUR_EXTENSIONS
from coordinator.engine.spark.passed_settings import SESSION_SAFE, of_session, with_our_extensions
from shared.errors import ProcessionError
from shared.properties import ConfigurationError


def config(tmp_path: Path, *lines: str) -> Path:
    (tmp_path / "config.properties").write_text("\n".join(lines) + "\n")
    return tmp_path


def test_any_setting_passes_through(tmp_path: Path) -> None:
    spark = read_config(
        config(
            tmp_path,
            "spark.conf.spark.plugins=org.example.Plugin",
            "spark.conf.spark.memory.offHeap.size=2g",
            "spark.conf.spark.hadoop.fs.s3a.endpoint=http://store:9000",
            "spark.driver-memory=3g",
        )
    ).spark
    assert spark.conf == {
        "spark.plugins": "org.example.Plugin",
        "spark.memory.offHeap.size": "2g",
        "spark.hadoop.fs.s3a.endpoint": "http://store:9000",
    }
    assert spark.heap_size == 3 << 30


@pytest.mark.parametrize(
    ("line", "problem"),
    [
        ("spark.conf.plugins=x", "spark.conf.spark."),
        ("spark.conf.spark.driver.memory=4g", "set spark.driver-memory"),
        ("spark.conf.spark.sql.ansi.enabled=false", "mean what they mean in Presto"),
        ("spark.conf.spark.connect.grpc.binding.address=0.0.0.0", "this machine's alone"),
        ("spark.confspark.plugins=x", "unknown property"),
        ("spark.driver-memory=4", "invalid value"),
    ],
)
def test_what_cannot_pass_is_refused_at_its_line(tmp_path: Path, line: str, problem: str) -> None:
    with pytest.raises(ConfigurationError, match=rf"config\.properties:2: .*{problem}"):
        read_config(config(tmp_path, "", line))


def test_extensions_are_added_to_icebergs() -> None:
    """Ours come too, but not beside an accelerator."""
    assert with_our_extensions({}, iceberg=False) == {"spark.sql.extensions": OUR_EXTENSIONS}
    passed = with_our_extensions({"spark.sql.extensions": "comet.Extensions"}, iceberg=True)
    assert passed == {"spark.sql.extensions": f"{ICEBERG_EXTENSIONS},comet.Extensions"}
    plugin = {"spark.plugins": "p"}
    assert with_our_extensions(plugin, iceberg=False) == plugin
    assert with_our_extensions(plugin, iceberg=True) == {**plugin, "spark.sql.extensions": ICEBERG_EXTENSIONS}


def test_sessions_change_what_is_allowed() -> None:
    text = " spark.sql.shuffle.partitions = 3 ,spark.sql.adaptive.enabled=false,"
    assert of_session(text, SESSION_SAFE) == {
        "spark.sql.shuffle.partitions": "3",
        "spark.sql.adaptive.enabled": "false",
    }
    assert of_session("", SESSION_SAFE) == {}


@pytest.mark.parametrize(
    "text",
    [
        "spark.sql.shuffle.partitions",
        "spark.sql.ansi.enabled=false",
        "spark.sql.catalog.iceberg.uri=jdbc:x",
        "spark.sql.warehouse.dir=/tmp",
        "spark.sql.adaptive.customCostEvaluatorClass=org.example.Any",
        "spark.gluten.sql.columnar.libpath=x.so",
        "spark.gluten.saveDir=/tmp",
        "spark.sql.adaptive.enabled=true,spark.hadoop.fs.s3a.secret.key=x",
    ],
)
def test_sessions_change_nothing_else(text: str) -> None:
    with pytest.raises(ProcessionError, match="Invalid value of spark_settings"):
        of_session(text, SESSION_SAFE)


def test_what_all_statements_share_is_not_a_sessions_to_change_whatever_is_allowed() -> None:
    with pytest.raises(ProcessionError, match="the same for all statements"):
        of_session("spark.sql.ansi.enabled=false", ("spark.*",))


def test_no_session_leaves_out_files_that_are_broken_or_gone() -> None:
    for name in ("ignoreCorruptFiles", "ignoreMissingFiles"):
        with pytest.raises(ProcessionError, match="is not among those"):
            of_session(f"spark.sql.files.{name}=true", SESSION_SAFE)
    assert of_session("spark.sql.files.maxPartitionBytes=1m", SESSION_SAFE)
