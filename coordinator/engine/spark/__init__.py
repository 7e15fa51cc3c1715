"""The Spark engine: an embedded or remote Spark Connect server behind `SparkEngine`. The only room that knows pyspark."""
