"""Household graphs: apartments of several rooms as graphs, with the actions of VirtualHome and the tasks of WAH-NL.

``graph`` has the graph and a robot's actions. ``household`` has its view, the texts, and the belief read from them. ``goals``
has goals and their sentences, ``houses`` makes up apartments, and ``files`` reads the files of VirtualHome and LoTa-Bench.
``world`` is the world with its experts, and ``env`` plays in it.
"""
