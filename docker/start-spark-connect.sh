#!/usr/bin/env bash
# Starts Spark Connect in the foreground. Catalogs come with each session: the coordinator sets them. Arguments are
# spark-submit's, after ours: the last of two settings with one name holds.
set -euo pipefail
home="$(python -c 'import importlib.util as u, pathlib as p; print(p.Path(u.find_spec("pyspark").origin).parent)')"
export SPARK_HOME="$home"
exec "$home/bin/spark-submit" \
  --driver-memory "${SPARK_DRIVER_MEMORY:-2g}" \
  --packages "org.apache.iceberg:iceberg-spark-runtime-4.1_2.13:1.11.0,org.apache.iceberg:iceberg-aws-bundle:1.11.0,org.postgresql:postgresql:42.7.8" \
  --class org.apache.spark.sql.connect.service.SparkConnectServer \
  --conf spark.master="${SPARK_MASTER:-local[*]}" \
  --conf spark.ui.enabled=false \
  --conf spark.connect.grpc.binding.address=0.0.0.0 \
  --conf spark.connect.grpc.binding.port=15002 \
  --conf spark.connect.progress.reportInterval=200ms \
  --conf spark.connect.execute.manager.detachedTimeout=1m \
  --conf spark.python.task.killTimeout=100ms \
  --conf spark.jars.ivy=/var/lib/procession/ivy \
  --conf spark.local.dir=/var/lib/procession \
  --conf spark.sql.session.timeZone=UTC \
  --conf spark.sql.extensions=org.apache.iceberg.spark.extensions.IcebergSparkSessionExtensions \
  "$@" \
  spark-internal
