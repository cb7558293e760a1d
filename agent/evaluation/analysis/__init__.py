"""Compute figures from recorded runs.

``run`` reads one, ``metrics`` summarises it, ``failures`` classifies its lost episodes, ``experts`` finds what could have been
reached, and ``transcript`` reads an episode turn by turn. ``series`` has several runs as one and ``arms`` those of a sweep, and
``published`` sets a run beside the literature. ``statistics`` has the intervals and tests.
"""
