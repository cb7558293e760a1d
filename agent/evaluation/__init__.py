"""Evaluation: play many episodes under one frozen configuration, and compute and print their figures.

``runs`` plays them and keeps their folders, ``analysis`` computes figures from what was recorded, and ``render`` writes
reports. ``parts`` is what an optional part may add to a run, and ``library`` offers evaluations and reports to Python programs.
"""
