"""ALFRED (Shridhar et al., CVPR 2020) for planners: a planner reads people's instructions, writes a whole plan, and is scored.

Nothing is played step by step, so there is no ``Env``: `tasks` reads demonstrations, `model` executes plans symbolically.
"""

PLANS = "alfred-plans"
"""What ``housequest eval --world`` takes for these plans; it is no world."""
