"""Compute figures from recorded runs.

``run`` reads one and finds what could have been reached, ``metrics`` summarises it, ``failures`` classifies its lost episodes,
and ``transcript`` reads an episode turn by turn. ``arms`` takes several runs as one, and compares them. ``statistics`` has the
intervals and tests.
"""
