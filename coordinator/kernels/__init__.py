"""Kernels: functions that Spark's executors run, bytes in and bytes out, and the evaluator of Presto's expressions.

They ship as the package ``procession_kernels``, so they import the standard library, pyarrow and numpy alone, and one
another relatively.
"""
