"""A race: two sessions of one task, turn by turn. `screen` shows them, `ending` compares them."""
