"""Planners that write ALFRED's high-level plans, and the runs that score them (``housequest eval --world alfred-plans``).

There are no episodes: nothing is observed, and `housequest.worlds.alfred` scores a plan as written. ``planners`` has the
planners and their examples, ``lota`` the prompts of one of them, ``work`` the runs, and ``report`` the figures.
"""
