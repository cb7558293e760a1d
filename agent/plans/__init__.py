"""Planners that write ALFRED's high-level plans whole, the runs that score them, and what is told of these.

`worlds.alfred` has the tasks and the measure. There is no episode: nothing is observed, and a plan is judged as it was
written.
"""
