"""How a rewrite writes its files: packed, sorted, repartitioned, and resized where the sizes came out otherwise."""
