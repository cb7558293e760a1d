"""Skills, such as "find a mug", and the controller that turns them into text commands.

``skill`` is the value, its state, and one decision about it. ``controller`` carries a skill out from belief alone, or asks a
model where to look. ``naming`` reads the names that planners and people use.
"""
