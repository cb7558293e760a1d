"""A race: two sessions of one task, turn by turn. `state` compares them, `screen` shows them, `ending` sums up."""
