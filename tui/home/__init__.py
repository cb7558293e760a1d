"""Home: choose a game and a player.

`screen` is the screen, `games` has its widgets, `catalogue` the games of all installed worlds, the records and what was chosen
before.
"""
