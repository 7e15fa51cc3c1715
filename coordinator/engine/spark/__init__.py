"""The Spark engine: an embedded or remote Spark Connect server behind `SparkEngine`. Nothing else knows pyspark."""
