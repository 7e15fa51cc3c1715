"""A process that owns an engine, for tests that kill it: ``owner.py DIRECTORY`` prints a line once Spark works."""

import sys
import time
from pathlib import Path

from coordinator.engine.spark.engine import SparkEngine
from coordinator.engine.spark.settings import SparkSettings
from tests.spark_packages import PACKAGES

if __name__ == "__main__":
    settings = SparkSettings(work_dir=Path(sys.argv[1]), driver_memory="512m", warm_up=True, packages=PACKAGES)
    engine = SparkEngine(settings, {})
    connection = engine.connect()
    connection.session.sql("SELECT 1").toArrow()
    engine._warm_up(connection)
    print("ready", flush=True)
    time.sleep(600)
