"""Household graphs: apartments of several rooms as graphs, with the actions of VirtualHome and the tasks of WAH-NL.

``graph`` is the value, ``actions`` what a robot can do in it, ``sight`` what it sees of it, ``text`` the words for both.
``goals`` says what is wanted, ``reader`` makes a belief of the words, and ``files`` reads what VirtualHome and LoTa-Bench
write.
"""
