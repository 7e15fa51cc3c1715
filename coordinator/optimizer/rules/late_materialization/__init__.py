"""Late materialization: columns that nothing below the output reads are fetched by row position afterwards.

``collector`` finds the columns, ``gates`` decides whether fetching pays, ``rewriter`` changes the plan.
"""
