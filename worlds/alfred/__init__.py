"""ALFRED (Shridhar et al., CVPR 2020): its demonstrations as whole plans to score, and as tasks to play step by step.

`tasks` reads annotations, and counts what a goal asks for in both. For planners, `model` executes plans symbolically; nothing
is played. The world ``alfred`` (`world`) plays the same demonstrations in a `simulator`: `scenes` makes the room, and `env`
plays there. `engine` enacts ALFWorld's games in the same simulator, and `player` lends it to clients of AI2-THOR.
"""

PLANS = "alfred-plans"  # What ``housequest eval --world`` takes for these plans; it is no world.
