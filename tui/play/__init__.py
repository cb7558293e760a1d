"""A live game: what is played (`game`), its `session`, the `screen` that shows it, and what plays it without one (`plain`).

`live_screen` has the bases of the screens of games, and `line` is where commands are typed.
"""
