"""Classes of ours for Spark's JVM, and the settings that put them in the place of Iceberg's (docs/adr/0013)."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

OUR_JAR = Path(__file__).parent / "jvm" / "procession-writes.jar"
"""Made by ``tools.java_classes`` from the sources beside it."""
LOCAL_FILES = "procession.spark.LocalFiles"
"""Hadoop's file system for ``file://`` runs a program for each file that it makes; this one does not."""
ICEBERG_EXTENSIONS = "org.apache.iceberg.spark.extensions.IcebergSparkSessionExtensions"
OUR_EXTENSIONS = "procession.spark.Extensions"
"""They bring a rule of ours into Spark's optimizer (docs/adr/0024)."""
OUR_RULE = "procession.spark.LongSums"
_CATALOGS = {"org.apache.iceberg.spark.SparkCatalog": "procession.spark.NamedWritesCatalog"}


def with_our_catalogs(catalog_conf: Mapping[str, str]) -> dict[str, str]:
    """The settings of catalogs where Spark has our classes."""
    return {name: _CATALOGS.get(value, value) for name, value in catalog_conf.items()}


def of_iceberg(catalog_conf: Mapping[str, str]) -> list[str]:
    """Names of the catalogs that a class of ours can stand for."""
    return [name.rpartition(".")[2] for name, value in catalog_conf.items() if value in _CATALOGS]
