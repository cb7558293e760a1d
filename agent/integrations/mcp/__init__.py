"""Games for clients of the Model Context Protocol."""
