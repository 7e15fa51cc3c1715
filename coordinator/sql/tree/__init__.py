"""The syntax tree: frozen, typed nodes with Presto's names (``com.facebook.presto.sql.tree``), each with its place."""
