"""Planners that write ALFRED's high-level plans, and the runs that score them (``housequest eval --world alfred-plans``).

There are no episodes: nothing is observed, and a plan is scored as written, by `housequest.worlds.alfred`. ``planners`` has the
planners and the examples that they choose from, but for the one by the prompts of lota, ``work`` what a run is and how it is
played, and ``report`` its figures.
"""
