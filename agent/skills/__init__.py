"""Skills, such as "find a mug", and the controller that turns them into text commands.

``skill`` is the value, ``controller`` carries a skill out from belief alone, ``attempt`` has its state and makes one decision,
``naming`` resolves the names that a planner uses to those of the game, and ``searcher`` lets a model say where to look.
"""
