"""OPEx's explorer: plays games, asks a model for rules, filters and checks them, and writes a rulebook (OPEx, section 3).

``plan`` freezes what an exploration is; ``explore`` runs it. ``chunks`` turns episodes into text, ``distiller`` reads the rules
that a model proposes, and collects them as candidates. ``filtering`` merges duplicates and resolves contradictions, by
evidence or with the model in ``judges``. ``ledger`` keeps every call on disk; ``report`` is the outcome.
"""
