"""Skills, such as "find a mug", and the controller that turns them into text commands.

``skill`` is the value, ``controller`` carries a skill out from belief alone, ``attempt`` has its state and makes one decision,
``naming`` reads the names that planners and people use, and ``searcher`` lets a model say where to look.
"""
