"""The Presto plan vocabulary as frozen msgspec Structs whose tag is Presto's ``@type``."""
