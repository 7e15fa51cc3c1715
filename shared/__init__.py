"""The contract between coordinator and sidecar: plans, protocol messages, extension points.

A leaf: imports no framework, engine or service.
"""
