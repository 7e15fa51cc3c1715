"""The built-in TPC-H tables: Presto's ``tpch`` connector, over files that are generated when first read."""
