"""A race: two sessions of one task, turn by turn. `screen` shows them, `ending` compares them."""

from housequest.tui.screens import GameMode

MODES = (
    GameMode(
        "race",
        "R",
        "race",
        "Race the agent",
        "each in a house of your own",
        "you and {agent} race at {game}: ",
        again="Race the agent at this task",
        resumes=False,
    ),
)
