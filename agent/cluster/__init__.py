"""A run in many processes: players play its episodes, and everything is stored by the command that started the run.

The driver (`driver`) is the run itself: its folder, budget and rate limiter. A player (`local`) is a process that plays
episodes with the same code as a run on one machine, into its own folder, and sends what it writes to the driver. So a player
may die at any moment, and so may the driver. A `PlayerCluster` starts players: processes of this machine, or Ray, which also
does work without a driver (`housequest.agent.processes.Pool`).
"""
