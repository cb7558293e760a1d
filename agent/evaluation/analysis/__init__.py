"""Compute figures from recorded runs.

``metrics`` summarises one run, ``failures`` classifies its lost episodes (with ``case``), ``paths`` finds the best path
lengths, ``modules`` examines PET's modules, and ``transcript`` reads an episode turn by turn. ``compare`` pairs two runs,
``seeds`` averages several, ``published`` sets a run beside the literature. ``statistics`` has the intervals and tests.
"""
