"""Frames, laterals, aggregates over NULLs and geometry, with the rows of a real Presto 0.296.

``{one}`` stands before VALUES: nothing, or a table of one row that makes the query Spark's.
"""

from __future__ import annotations

from typing import Any

FRAMES: tuple[tuple[str, Any], ...] = (
    (
        "SELECT a, array_agg(a) OVER (ORDER BY a GROUPS BETWEEN 1 PRECEDING AND CURRENT ROW) FROM {one} "
        "(VALUES 1, 2, 2, 3) AS t(a) ORDER BY 1, 2",
        [[1, [1]], [2, [1, 2, 2]], [2, [1, 2, 2]], [3, [2, 2, 3]]],
    ),
    (
        "SELECT a, count(*) OVER (PARTITION BY a % 2 ORDER BY a GROUPS BETWEEN CURRENT ROW AND 1 FOLLOWING) "
        "FROM {one} (VALUES 1, 2, 2, 3, 4) AS t(a) ORDER BY 1, 2",
        [[1, 2], [2, 3], [2, 3], [3, 1], [4, 1]],
    ),
    (
        "SELECT a, count(*) OVER (ORDER BY a RANGE BETWEEN INTERVAL '1' DAY PRECEDING AND INTERVAL '1' DAY "
        "FOLLOWING) FROM {one} (VALUES DATE '2001-01-31', DATE '2001-02-01', DATE '2001-02-03') AS t(a) ORDER"
        " BY 1",
        [["2001-01-31", 2], ["2001-02-01", 2], ["2001-02-03", 1]],
    ),
    (
        "SELECT a, count(*) OVER (ORDER BY a RANGE INTERVAL '1' MONTH PRECEDING) FROM {one} (VALUES DATE "
        "'2001-01-31', DATE '2001-02-28', DATE '2001-03-31') AS t(a) ORDER BY 1",
        [["2001-01-31", 1], ["2001-02-28", 2], ["2001-03-31", 2]],
    ),
    (
        "SELECT b, count(*) OVER (ORDER BY b DESC RANGE BETWEEN INTERVAL '90' MINUTE PRECEDING AND CURRENT "
        "ROW) FROM {one} (VALUES TIMESTAMP '2001-01-31 10:00:00', TIMESTAMP '2001-01-31 11:00:00', TIMESTAMP "
        "'2001-01-31 13:00:00') AS t(b) ORDER BY 1",
        [["2001-01-31 10:00:00.000", 2], ["2001-01-31 11:00:00.000", 1], ["2001-01-31 13:00:00.000", 1]],
    ),
    (
        "SELECT a, sum(a) OVER (ORDER BY a RANGE BETWEEN 1 PRECEDING AND 1 FOLLOWING) FROM {one} (VALUES 1, "
        "2, 4, NULL) AS t(a) ORDER BY 1",
        [[1, 3], [2, 3], [4, 4], [None, None]],
    ),
    (
        "SELECT x, y FROM {one} (VALUES 1, 2) AS t(x) CROSS JOIN LATERAL (SELECT x + 1 AS y) AS u ORDER BY 1",
        [[1, 2], [2, 3]],
    ),
    (
        "SELECT x, n FROM {one} (VALUES 1, 2, 5) AS t(x) CROSS JOIN LATERAL (SELECT count(*) AS n FROM "
        "(VALUES 1, 1, 2) AS v(z) WHERE z = x) AS u ORDER BY 1",
        [[1, 2], [2, 1], [5, 0]],
    ),
    (
        "SELECT count(*) FROM (SELECT sum(a) FROM {one} (VALUES 1, 2) AS t(a))",
        [[1]],
    ),
    (
        "SELECT max_by(x, y), min_by(x, y) FROM {one} (VALUES (1, 2), (NULL, 3), (5, 4), (NULL, 1)) AS t(x, y)",
        [[5, None]],
    ),
    (
        "SELECT set_union(x) FROM {one} (VALUES CAST(NULL AS array(bigint))) AS t(x)",
        [[[]]],
    ),
    (
        "SELECT to_hex(checksum(x)) FROM {one} (VALUES 1, 2, NULL) AS t(x)",
        [["F251B6D520C60A0C"]],
    ),
    (
        "SELECT to_hex(checksum(x)), to_hex(checksum(y)) FROM {one} (VALUES (ARRAY[1, NULL], ROW('a', DATE "
        "'2001-01-01'))) AS t(x, y)",
        [["0271BA35422D01CC", "6288169CA330D704"]],
    ),
    (
        "SELECT ST_Area(ST_GeometryFromText(w)), ST_AsText(ST_Centroid(ST_GeometryFromText(w))) FROM {one} "
        "(VALUES 'POLYGON ((0 0, 0 2, 2 2, 2 0, 0 0))') AS t(w)",
        [[4.0, "POINT (1 1)"]],
    ),
    (
        "SELECT ST_Distance(ST_Point(x, y), ST_Point(0, 0)), ST_X(ST_Point(x, y)) FROM {one} (VALUES (3e0, "
        "4e0)) AS t(x, y)",
        [[5.0, 3.0]],
    ),
    (
        "SELECT count(*) FROM {one} (VALUES (1e0, 1e0), (5e0, 5e0)) AS t(x, y) WHERE "
        "ST_Contains(ST_GeometryFromText('POLYGON ((0 0, 0 2, 2 2, 2 0, 0 0))'), ST_Point(x, y))",
        [[1]],
    ),
    (
        "SELECT ST_AsText(geometry_union_agg(ST_Point(x, 0e0))) FROM {one} (VALUES 1e0, 2e0) AS t(x)",
        [["MULTIPOINT ((1 0), (2 0))"]],
    ),
    (
        "SELECT great_circle_distance(a, 0e0, 0e0, 1e0) FROM {one} (VALUES 0e0) AS t(a)",
        [[111.19510117748393]],
    ),
)
