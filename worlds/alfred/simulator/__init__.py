"""A simulated household, by AI2-THOR's actions: its contract (`base`), boxes as a stand-in, and AI2-THOR itself (`thor`)."""
