"""Planners that write ALFRED's high-level plans, and the runs that score them (``housequest eval --world alfred-plans``).

There are no episodes: nothing is observed, and a plan is scored as written, by `housequest.worlds.alfred`. ``planners`` and
``lota`` have the planners, ``pool`` the examples that they choose from; ``run`` is the specification of a run, ``work`` plays
it in its folder, ``sweep`` is several of them, and ``report`` prints their figures.
"""
