"""The Star Schema Benchmark's five tables, derived from TPC-H's by SQL in DuckDB, and its thirteen queries.

``python -m tests.data_sets.ssb SCALE FOLDER`` writes ``lineorder``, ``customer``, ``supplier``, ``part`` and ``dwdate``
as Parquet files (SSB calls the last one DATE). Columns are those of O'Neil, O'Neil, Chen: "Star Schema Benchmark",
revision 3; the rows are TPC-H's: one ``lineorder`` a ``lineitem``, prices in cents, and the customers, suppliers and
parts of TPC-H of the same scale, whose numbers are not thinned out as SSB's own generator does. What SSB draws at
random (the digit of a city, the brand within a category) comes from the key.
"""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path
from tempfile import TemporaryDirectory

import duckdb

_CITY = "rpad(left(n_name, 9), 9, ' ') || CAST(({key} * 7919) % 10 AS VARCHAR)"
_PLACE = """
    trim(n_name) AS {p}_nation, trim(r_name) AS {p}_region
    FROM '{tpch}/{table}.parquet'
    JOIN '{tpch}/nation.parquet' ON {p}_nationkey = n_nationkey
    JOIN '{tpch}/region.parquet' ON n_regionkey = r_regionkey ORDER BY {p}_{key}"""

TABLES = {
    "lineorder": """
        SELECT l_orderkey AS lo_orderkey, CAST(l_linenumber AS INTEGER) AS lo_linenumber, o_custkey AS lo_custkey,
            l_partkey AS lo_partkey, l_suppkey AS lo_suppkey,
            CAST(strftime(o_orderdate, '%Y%m%d') AS INTEGER) AS lo_orderdate, o_orderpriority AS lo_orderpriority,
            CAST(o_shippriority AS VARCHAR) AS lo_shippriority, CAST(l_quantity AS INTEGER) AS lo_quantity,
            CAST(l_extendedprice * 100 AS BIGINT) AS lo_extendedprice,
            CAST(o_totalprice * 100 AS BIGINT) AS lo_ordtotalprice, CAST(l_discount * 100 AS INTEGER) AS lo_discount,
            CAST(l_extendedprice * 100 AS BIGINT) * CAST(100 - l_discount * 100 AS INTEGER) // 100 AS lo_revenue,
            CAST(ps_supplycost * 100 AS BIGINT) AS lo_supplycost,
            CAST(l_tax * 100 AS INTEGER) AS lo_tax,
            CAST(strftime(l_commitdate, '%Y%m%d') AS INTEGER) AS lo_commitdate, l_shipmode AS lo_shipmode
        FROM '{tpch}/lineitem.parquet' JOIN '{tpch}/orders.parquet' ON l_orderkey = o_orderkey
            JOIN '{tpch}/partsupp.parquet' ON l_partkey = ps_partkey AND l_suppkey = ps_suppkey
        ORDER BY lo_orderkey, lo_linenumber""",
    "customer": """
        SELECT c_custkey, c_name, c_address, {city} AS c_city, c_phone, c_mktsegment, """.replace(
        "{city}", _CITY.format(key="c_custkey")
    )
    + _PLACE.replace("{p}", "c").replace("{table}", "customer").replace("{key}", "custkey"),
    "supplier": """
        SELECT s_suppkey, s_name, s_address, {city} AS s_city, s_phone, """.replace(
        "{city}", _CITY.format(key="s_suppkey")
    )
    + _PLACE.replace("{p}", "s").replace("{table}", "supplier").replace("{key}", "suppkey"),
    "part": """
        SELECT p_partkey, p_name, 'MFGR#' || p_mfgr[-1] AS p_mfgr, 'MFGR#' || p_brand[-2:] AS p_category,
            'MFGR#' || p_brand[-2:] || CAST(1 + (p_partkey * 7919) % 40 AS VARCHAR) AS p_brand1,
            split_part(p_name, ' ', 1) AS p_color, p_type, CAST(p_size AS INTEGER) AS p_size, p_container
        FROM '{tpch}/part.parquet' ORDER BY p_partkey""",
    "dwdate": """
        SELECT CAST(strftime(d, '%Y%m%d') AS INTEGER) AS d_datekey, strftime(d, '%B %-d, %Y') AS d_date,
            strftime(d, '%A') AS d_dayofweek, strftime(d, '%B') AS d_month, CAST(year(d) AS INTEGER) AS d_year,
            CAST(strftime(d, '%Y%m') AS INTEGER) AS d_yearmonthnum, strftime(d, '%b%Y') AS d_yearmonth,
            CAST(isodow(d) % 7 + 1 AS INTEGER) AS d_daynuminweek, CAST(day(d) AS INTEGER) AS d_daynuminmonth,
            CAST(dayofyear(d) AS INTEGER) AS d_daynuminyear, CAST(month(d) AS INTEGER) AS d_monthnuminyear,
            CAST((dayofyear(d) - 1) // 7 + 1 AS INTEGER) AS d_weeknuminyear,
            CASE WHEN month(d) IN (11, 12) THEN 'Christmas' WHEN month(d) IN (6, 7, 8) THEN 'Summer'
                WHEN month(d) IN (9, 10) THEN 'Fall' WHEN month(d) IN (1, 2) THEN 'Winter' ELSE 'Spring'
            END AS d_sellingseason,
            isodow(d) = 6 AS d_lastdayinweekfl, d = last_day(d) AS d_lastdayinmonthfl,
            (month(d), day(d)) IN ((1, 1), (7, 4), (12, 25)) AS d_holidayfl, isodow(d) < 6 AS d_weekdayfl
        FROM (SELECT CAST(range AS DATE) AS d FROM range(DATE '1992-01-01', DATE '1999-01-01', INTERVAL 1 DAY))
        ORDER BY d_datekey""",
}

_FLIGHT_1 = """SELECT sum(lo_extendedprice * lo_discount) AS revenue FROM lineorder, dwdate
WHERE lo_orderdate = d_datekey AND """
_FLIGHT_2 = """SELECT sum(lo_revenue) AS revenue, d_year, p_brand1 FROM lineorder, dwdate, part, supplier
WHERE lo_orderdate = d_datekey AND lo_partkey = p_partkey AND lo_suppkey = s_suppkey AND {}
GROUP BY d_year, p_brand1 ORDER BY d_year, p_brand1"""
_FLIGHT_3 = """SELECT c_{0}, s_{0}, d_year, sum(lo_revenue) AS revenue FROM customer, lineorder, supplier, dwdate
WHERE lo_custkey = c_custkey AND lo_suppkey = s_suppkey AND lo_orderdate = d_datekey AND {1}
GROUP BY c_{0}, s_{0}, d_year ORDER BY d_year ASC, revenue DESC"""
_FLIGHT_4 = """SELECT d_year, {0}, sum(lo_revenue - lo_supplycost) AS profit
FROM dwdate, customer, supplier, part, lineorder
WHERE lo_custkey = c_custkey AND lo_suppkey = s_suppkey AND lo_partkey = p_partkey AND lo_orderdate = d_datekey
    AND {1}
GROUP BY d_year, {0} ORDER BY d_year, {0}"""
_CITIES = "c_city IN ('UNITED KI1', 'UNITED KI5') AND s_city IN ('UNITED KI1', 'UNITED KI5') AND "

QUERIES = {
    "q1.1": _FLIGHT_1 + "d_year = 1993 AND lo_discount BETWEEN 1 AND 3 AND lo_quantity < 25",
    "q1.2": _FLIGHT_1 + "d_yearmonthnum = 199401 AND lo_discount BETWEEN 4 AND 6 AND lo_quantity BETWEEN 26 AND 35",
    "q1.3": _FLIGHT_1 + "d_weeknuminyear = 6 AND d_year = 1994 AND lo_discount BETWEEN 5 AND 7 "
    "AND lo_quantity BETWEEN 26 AND 35",
    "q2.1": _FLIGHT_2.format("p_category = 'MFGR#12' AND s_region = 'AMERICA'"),
    "q2.2": _FLIGHT_2.format("p_brand1 BETWEEN 'MFGR#2221' AND 'MFGR#2228' AND s_region = 'ASIA'"),
    "q2.3": _FLIGHT_2.format("p_brand1 = 'MFGR#2221' AND s_region = 'EUROPE'"),
    "q3.1": _FLIGHT_3.format("nation", "c_region = 'ASIA' AND s_region = 'ASIA' AND d_year >= 1992 AND d_year <= 1997"),
    "q3.2": _FLIGHT_3.format(
        "city", "c_nation = 'UNITED STATES' AND s_nation = 'UNITED STATES' AND d_year >= 1992 AND d_year <= 1997"
    ),
    "q3.3": _FLIGHT_3.format("city", _CITIES + "d_year >= 1992 AND d_year <= 1997"),
    "q3.4": _FLIGHT_3.format("city", _CITIES + "d_yearmonth = 'Dec1997'"),
    "q4.1": _FLIGHT_4.format(
        "c_nation", "c_region = 'AMERICA' AND s_region = 'AMERICA' AND (p_mfgr = 'MFGR#1' OR p_mfgr = 'MFGR#2')"
    ),
    "q4.2": _FLIGHT_4.format(
        "s_nation, p_category",
        "c_region = 'AMERICA' AND s_region = 'AMERICA' AND (d_year = 1997 OR d_year = 1998) "
        "AND (p_mfgr = 'MFGR#1' OR p_mfgr = 'MFGR#2')",
    ),
    "q4.3": _FLIGHT_4.format(
        "s_city, p_brand1",
        "c_region = 'AMERICA' AND s_nation = 'UNITED STATES' AND (d_year = 1997 OR d_year = 1998) "
        "AND p_category = 'MFGR#14'",
    ),
}


def generate_tpch(scale: float, folder: Path) -> None:
    """TPC-H's tables at ``scale`` as ``<table>.parquet`` in ``folder``."""
    command = [str(Path(sys.executable).with_name("tpchgen-cli")), "parquet", "-s", str(scale), "-o", str(folder)]
    subprocess.run(command, check=True, capture_output=True, timeout=600)


def derive_ssb(tpch: Path, folder: Path) -> list[Path]:
    """SSB's tables as Parquet files in ``folder``, from the files of ``generate_tpch``; gives their paths."""
    written = []
    with duckdb.connect() as connection:
        for name, query in TABLES.items():
            path = folder / f"{name}.parquet"
            text = query.replace("{tpch}", str(tpch).replace("'", "''"))
            connection.execute(f"COPY ({text}) TO '{str(path).replace(chr(39), chr(39) * 2)}' (FORMAT parquet)")
            written.append(path)
    return written


def main() -> None:
    """``SCALE FOLDER``."""
    scale, folder = float(sys.argv[1]), Path(sys.argv[2])
    folder.mkdir(parents=True, exist_ok=True)
    with TemporaryDirectory() as home:
        generate_tpch(scale, Path(home))
        derive_ssb(Path(home), folder)


if __name__ == "__main__":
    main()
