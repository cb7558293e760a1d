"""A live game.

`session` is the overseer between one episode and a screen, `live_screen` what play and race share, `screen` the play screen,
`state` which keys work, `status` what is waited for. `game` is what is played, `plain` plays it without a screen. `line`,
`complete` and `prompt` are the command line with its completion.
"""
