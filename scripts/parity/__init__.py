"""`make parity`: the native engine against the real alfworld, text, admissible commands and outcome at every step."""
