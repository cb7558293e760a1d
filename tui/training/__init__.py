"""``housequest train`` and ``housequest export``: adapters for language models, and conversations for other trainers."""
