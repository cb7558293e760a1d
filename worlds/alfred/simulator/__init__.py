"""A simulated household, by AI2-THOR's actions: its contract (`base`), boxes as a stand-in, and AI2-THOR itself (`thor`).

`scene` makes one of a game of ALFWorld, in which `embodied` carries out what is played there.
"""
