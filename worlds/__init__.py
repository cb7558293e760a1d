"""Worlds: the tasks that can be played and the texts that players observe. Imports nothing else of housequest.

`base` has the contract of a world and `checking` checks it; `registry` finds worlds by name, `options` reads their options.
`household` has the parts that household worlds share, and `rooms` draws their houses; `alfworld` and `scripted` are worlds.
`env` has base classes and wrappers of envs, `tasks` endless splits and goal sentences; `errors`, `paths`, `text`,
`validation` and `workers` serve all of housequest. `alfred`, `dropin`, `graphs`, `gym_env` and `zoo_env` are optional, and
nothing imports them.
"""
