"""OPEx's explorer: plays games, asks a model for rules, filters and checks them, and writes a rulebook (OPEx, section 3).

``plan`` freezes what an exploration is, and has its report; ``explore`` runs it. ``distiller`` turns episodes into text, reads
the rules that a model proposes, and collects them as candidates. ``filtering`` merges duplicates and resolves contradictions,
by evidence or with a model.
"""
