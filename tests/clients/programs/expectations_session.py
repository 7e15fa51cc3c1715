"""Runs in an environment with Great Expectations: a suite over the table ``sales``; prints what held as JSON.

Argument: an address for SQLAlchemy with catalog and schema.
"""

from __future__ import annotations

import json
import sys
import warnings

warnings.filterwarnings("ignore")

import great_expectations as gx  # noqa: E402
from great_expectations import expectations as gxe  # noqa: E402

SHOPS = ["ada", "grace"]
SUITE = [
    gxe.ExpectTableRowCountToBeBetween(min_value=6, max_value=6),
    gxe.ExpectTableColumnsToMatchOrderedList(column_list=["id", "shop", "price", "day", "at"]),
    gxe.ExpectColumnValuesToBeOfType(column="id", type_="BIGINT"),
    gxe.ExpectColumnValuesToBeUnique(column="id"),
    gxe.ExpectColumnValuesToNotBeNull(column="shop"),
    gxe.ExpectColumnValuesToBeBetween(column="at", min_value="2026-01-01", max_value="2026-01-04"),
    gxe.ExpectColumnValuesToBeInSet(column="shop", value_set=SHOPS),
    gxe.ExpectColumnValuesToMatchRegex(column="shop", regex="^[a-z]+$"),
    gxe.ExpectColumnValuesToMatchLikePattern(column="shop", like_pattern="%a%"),
    gxe.ExpectColumnValueLengthsToBeBetween(column="shop", min_value=3, max_value=5),
    gxe.ExpectColumnMeanToBeBetween(column="price", min_value=3.5, max_value=3.5),
    gxe.ExpectColumnMedianToBeBetween(column="id", min_value=3, max_value=4),
    gxe.ExpectColumnStdevToBeBetween(column="price", min_value=1.8, max_value=1.9),
    gxe.ExpectColumnSumToBeBetween(column="price", min_value=21, max_value=21),
    gxe.ExpectColumnMinToBeBetween(column="day", min_value="2026-01-01", max_value="2026-01-01"),
    gxe.ExpectColumnDistinctValuesToEqualSet(column="shop", value_set=SHOPS),
    gxe.ExpectColumnUniqueValueCountToBeBetween(column="shop", min_value=2, max_value=2),
    gxe.ExpectColumnPairValuesAToBeGreaterThanB(column_A="id", column_B="price", or_equal=True),
    gxe.ExpectCompoundColumnsToBeUnique(column_list=["id", "day"]),
    gxe.ExpectColumnValueZScoresToBeLessThan(column="price", threshold=3, double_sided=True),
    gxe.UnexpectedRowsExpectation(unexpected_rows_query="SELECT * FROM {batch} WHERE id < 0"),
    gxe.ExpectColumnValuesToBeInSet(column="shop", value_set=["ada"]),
]
"""All of them hold but the last."""

context = gx.get_context(mode="ephemeral")
source = context.data_sources.add_sql("procession", connection_string=sys.argv[1])
asset = source.add_table_asset("sales", table_name="sales", schema_name=sys.argv[1].rpartition("/")[2])
batches = {
    "all": asset.add_batch_definition_whole_table("all").get_batch(),
    "day": asset.add_batch_definition_daily("days", column="at").get_batch({"year": 2026, "month": 1, "day": 2}),
}
held = [batches["all"].validate(expectation).success for expectation in SUITE]
counted = batches["day"].validate(gxe.ExpectTableRowCountToBeBetween(min_value=2, max_value=2)).success
print(json.dumps({"held": held, "day": counted}))
