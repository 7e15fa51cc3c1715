"""The jar that is committed was made of the sources beside it."""

from __future__ import annotations

import zipfile

from coordinator.engine.spark.our_classes import OUR_JAR
from tools.java_classes import DIGEST, digest


def test_the_jar_is_of_these_sources() -> None:
    with zipfile.ZipFile(OUR_JAR) as jar:
        assert jar.read(DIGEST).decode() == digest(), "run: python -m tools.java_classes write"
        assert {name.rpartition("/")[0] for name in jar.namelist() if name != DIGEST} == {"procession/spark"}
