"""The checks that every plan passes, one file each, with Presto's names and texts.

Each is a function of a plan that raises ProcessionError; ``coordinator.checks.plan_checkers`` orders them in phases.
"""
