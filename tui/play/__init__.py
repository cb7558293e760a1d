"""A live game.

`session` is the overseer between one episode and a screen, `live_screen` what play and race share, `screen` the play
screen, `state` what is waited for and which keys work. `game` plays without a screen, `plain` prints it. `line`, `complete`
and `prompt` are the command line with its completion.
"""
