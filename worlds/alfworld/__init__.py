"""ALFWorld text games: tasks on disk, the engine, belief, the expert."""
