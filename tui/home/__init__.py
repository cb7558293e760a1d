"""Home: choose a game and a player.

`screen` is the screen, `catalogue` the games of all installed worlds and the records, `recent` what was chosen and played
before, `start` a game from the choices. `places`, `games` and `who` are its widgets.
"""
