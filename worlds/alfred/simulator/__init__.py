"""A simulated household, by AI2-THOR's actions: its contract (`base`), boxes as a stand-in (`boxes`, put up by `layout`), and
AI2-THOR itself with what it says of things (`thor`)."""
