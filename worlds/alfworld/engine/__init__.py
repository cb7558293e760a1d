"""The native engine: a game file read (`game`), played (`native`) and solved (`planner`). It knows no belief."""
