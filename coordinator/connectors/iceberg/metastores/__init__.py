"""Hive metastores and AWS Glue: PyIceberg's catalogs, mended where a commit, a lock or a parameter would be lost."""
