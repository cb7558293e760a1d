"""The native engine: a game file read (`pddl`, `game`), played (`native`) and solved (`planner`). It knows no belief."""
