"""A run in many processes: players elsewhere play its episodes, and all that is kept lies with the command that began it.

The driver (`driver`) is the run itself: its folder, its budget, its rate limiter. A player (`local`) is a process that plays
episodes by the same code as a run on one machine, into a folder of its own. What is written there is sent to the driver as it
is written, so a player may die at any moment; and since nothing lies elsewhere, so may the driver. A `PlayerCluster` starts
them: processes of this machine, or Ray, which also does work that needs no driver (`housequest.agent.processes.Pool`).
"""
