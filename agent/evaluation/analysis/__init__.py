"""Compute figures from recorded runs.

``run`` reads one and finds what could have been reached, ``metrics`` summarises it, ``failures`` classifies its lost episodes,
and ``transcript`` reads an episode turn by turn. ``series`` has several runs as one, and the arms of a sweep. ``statistics``
has the intervals and tests.
"""
