"""Kernels: functions that executors run on bytes. They ship as the package ``procession_kernels``;

so they import the standard library, pyarrow and numpy alone, and one another relatively.
"""
