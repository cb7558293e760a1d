"""A race: two sessions of one task, turn by turn."""
