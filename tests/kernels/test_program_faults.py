"""What a function of ours gets wrong is an error without Python's words."""

from __future__ import annotations

import json

import pyarrow as pa
import pytest

from coordinator.kernels.errors import KernelError
from coordinator.kernels.functions.program import evaluate


def test_the_text_of_a_fault_stays_inside() -> None:
    body = ["call", "upper", "varchar", ["varchar"], [["column", 0]]]
    program = json.dumps({"zone": "UTC", "columns": ["varchar"], "result": "varchar", "expression": body})
    assert evaluate(pa.array([program]), pa.array(["a"])).to_pylist() == ["A"]
    with pytest.raises(KernelError) as failed:
        evaluate(pa.array([program]), pa.array([1]))  # no text, which the program was promised
    assert (failed.value.name, failed.value.message) == ("INVALID_FUNCTION_ARGUMENT", "Invalid argument of upper")


def test_a_fault_outside_of_functions_has_no_text_either() -> None:
    columns = ["row(a bigint)"]
    program = json.dumps({"zone": "UTC", "columns": columns, "result": "bigint", "expression": ["column", 0]})
    with pytest.raises(KernelError) as failed:
        evaluate(pa.array([program]), pa.array([1]))  # no row
    assert failed.value.name == "GENERIC_INTERNAL_ERROR"
    assert "attribute" not in str(failed.value)
