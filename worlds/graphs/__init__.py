"""Household graphs: apartments of several rooms as graphs, with the actions of VirtualHome and the tasks of WAH-NL.

``graph`` is the value and what a robot can do in it, ``text`` what it sees and the words for both. ``goals`` says what is
wanted, ``household`` makes a belief of the words, and ``files`` reads what VirtualHome and LoTa-Bench write.
"""
