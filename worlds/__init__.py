"""What can be played, and what is observed in it. Imports nothing else of housequest.

`base` holds the contract of a world, `registry` finds worlds by name, `options` reads what can be set of them, `checking`
checks the contract. `household` is what household worlds share, and `rooms` draws their houses; `alfworld` and `scripted` are
worlds, `env` is what envs are made of, `tasks` are what they play; `errors`, `paths`, `text` and `workers` serve all of
housequest. `alfred`, `dropin`, `graphs` and `gym_env` are optional, and nothing imports them.
"""
