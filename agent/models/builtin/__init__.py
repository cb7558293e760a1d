"""``builtin``: the small model that ships, which plays household text games in NumPy."""
