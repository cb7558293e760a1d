"""ALFRED (Shridhar et al., CVPR 2020) as plans to be scored: instructions by people, high-level plans, and a symbolic model.

Nothing here is played step by step, so there is no ``Env``: a planner writes a whole plan and `scoring` says what it is worth.
"""

PLANS = "alfred-plans"
"""What ``housequest eval --world`` takes for these plans; it is no world."""
