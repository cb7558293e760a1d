"""A live game: what is played (`game`), its `session`, the `screen` that shows it, and what plays it without one (`plain`).

`live_screen` has the bases of the screens of games, `line` is where commands are typed, and `guide` leads through a first game.
"""
