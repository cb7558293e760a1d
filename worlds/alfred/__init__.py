"""ALFRED (Shridhar et al., CVPR 2020) for planners: whole plans are scored on a symbolic model, and nothing is played."""

PLANS = "alfred-plans"
"""What ``housequest eval --world`` takes for these plans; it is no world."""
