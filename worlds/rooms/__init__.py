"""Rooms that can be drawn: where a household's receptacles stand, what is known of them, and pictures of both.

`room` holds the values, `poses` says where somebody stands and reads AI2-THOR's ids, `kinds` has the size and colour of each
kind. `furnish` makes a room of coordinates, `plans` of names alone; `floor` says where one can walk. `stage` puts up the boxes
of a room as far as a `Situation` knows it, `render` draws them, and `view` has the pictures: what an agent sees, the doll's
house, and the plan. NumPy is imported when something is drawn, not before.
"""
