"""Home: choose a game and a player.

`screen` is the screen, `catalogue` the games of all installed worlds, the records and what was chosen before, `start` a game
from the choices. `games` and `who` are its widgets.
"""
