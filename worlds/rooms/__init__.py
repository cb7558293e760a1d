"""Rooms that can be drawn: the places of a household's receptacles, the known parts of them, and pictures of both.

`room` holds the values; `furnish` makes a room of coordinates, and `plans` one of names alone. `stage` puts up the boxes of a
room as far as a `Situation` knows it, `render` draws them, and `view` has the pictures: what an agent sees, the doll's house,
and the plan. NumPy is imported when something is drawn, not before.
"""
