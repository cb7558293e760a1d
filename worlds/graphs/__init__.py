"""Household graphs: apartments of several rooms as graphs, with the actions of VirtualHome and the tasks of WAH-NL.

``graph`` is the value and what a robot can do in it. ``household`` has what it sees, the words for both, and the belief that is
made of these. ``goals`` says what is wanted, ``houses`` makes up apartments, and ``files`` reads what VirtualHome and
LoTa-Bench write. ``world`` is the world with its experts, and ``env`` plays in it.
"""
