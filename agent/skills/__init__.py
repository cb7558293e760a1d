"""Skills, such as "find a mug", and the controller that turns them into text commands.

``skill`` is the value, with its state, and makes one decision, ``controller`` carries a skill out from belief alone, or lets a
model say where to look, and ``naming`` reads the names that planners and people use.
"""
