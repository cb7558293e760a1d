"""Evaluation: play many episodes under one frozen configuration, and compute and print their figures.

``runs`` plays them and keeps their folders, ``analysis`` computes figures from what was recorded, ``render`` writes reports,
and ``library`` offers `housequest eval` and `report` to Python programs.
"""
