"""Training of the built-in model; needs the extra ``[train]``. Nothing here runs while a game is played."""
