"""ALFRED (Shridhar et al., CVPR 2020): its demonstrations as whole plans to score, and as tasks to play step by step.

`tasks` reads the annotations and counts goal conditions. For planners, `model` executes plans symbolically. The world
``alfred`` (`world`) plays the same demonstrations in a `simulator`: `scenes` makes the room, and `env` plays in it. `engine`
enacts ALFWorld's games in the same simulator, and `player` offers it to clients of AI2-THOR.
"""

PLANS = "alfred-plans"  # The value of ``housequest eval --world`` for these plans, though it is no world.
