# A table: one entry beside the other reads better than one below the other.
"""What the coordinator thinks that Spark's JVM computes, beside what the classes register."""

from __future__ import annotations

import re

from coordinator.engine.spark.our_classes import OUR_JAR
from coordinator.values.java_forms import JAVA_CASTS, JAVA_FUNCTIONS, in_java

SOURCES = OUR_JAR.parent / "procession" / "spark"


def test_the_same_functions_and_casts() -> None:
    text = "".join((SOURCES / name).read_text() for name in ("Forms.java", "DecimalForms.java"))
    parts = re.findall(r'"url_extract_" \+ part', text) and re.search(r"List\.of\(([^)]*)\)\) \{", text)
    assert parts
    names = {*re.findall(r'put\("([^"]+)", ', text)}
    names |= {f"url_extract_{part}" for part in re.findall(r'"(\w+)"', parts[1])}
    assert {n for n in names if " " not in n} == set(JAVA_FUNCTIONS)
    inside = re.findall(
        r'^    [A-Z]+\("(\w+)", DataTypes', (SOURCES / "JsonCollections.java").read_text(), re.MULTILINE
    )
    casts = {n for n in names if " " in n} - {"json "} | {f"json array({element})" for element in inside}
    assert casts | {f"json map(varchar,{element})" for element in ("json", "varchar")} == set(JAVA_CASTS)


def test_every_step_counts() -> None:
    parse = [
        "call",
        "date_parse",
        "timestamp",
        ["varchar", "varchar(2)"],
        [["column", 0], ["constant", "%Y", "varchar(2)"]],
    ]
    assert in_java(["try", parse])
    assert in_java(["form", "COALESCE", "timestamp", [["try", parse], parse]])
    assert not in_java(
        ["call", "date_trunc", "timestamp", ["varchar", "timestamp"], [["constant", "day", "varchar"], parse]]
    )
    assert not in_java(["lambda", ["x"], parse])
