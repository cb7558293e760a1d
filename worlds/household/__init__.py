"""The parts that household worlds share, independent of their texts: `base` has the protocol that each implements.

`belief` is a player's knowledge, `goals` are goals and skills, `counts` has the places of things at the start, and `planner` is
the search of planners that see the whole state.
"""
