"""What household worlds share, independent of their texts: `base` has the protocol that each implements.

`belief` is what a player knows, `goals` what is wanted, `counts` where things are at the start, and `planner` the search of
those who see the whole state.
"""
