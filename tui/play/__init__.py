"""A live game.

`session` is the overseer between one episode and a screen, with its status. `viewing` and `live_screen` are what screens of
episodes and of games share, `screen` is the play screen, `state` which keys work, `line` the command line. `game` is what is
played, `plain` plays it without a screen.
"""

from housequest.tui.screens import GameMode

MODES = (
    GameMode(
        "watch", "w", "watch", "Watch the agent play", "it plays; step in at any time", "{agent} plays {game} and you watch: "
    ),
    GameMode(
        "step",
        "s",
        "step",
        "Decide on each of its commands",
        "accept, edit or replace its commands",
        "{agent} plays {game} and you decide on each command: ",
    ),
    GameMode("you", "y", "play yourself", "Play yourself", "hand over to it whenever you like", "you play {game}: "),
)
