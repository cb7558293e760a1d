"""A live game.

`session` is the overseer between one episode and a screen, with its status. `viewing` and `live_screen` are what screens of
episodes and of games share, `screen` is the play screen, `state` which keys work, `line` the command line. `game` is what is
played, `plain` plays it without a screen.
"""
