"""``housequest mcp``: games for any client of the Model Context Protocol."""
