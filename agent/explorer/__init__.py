"""OPEx's explorer: plays games, asks a model for rules, filters and checks them, and writes a rulebook (OPEx, section 3).

``plan`` has the frozen configuration of an exploration and its report, and ``explore`` runs it. ``distiller`` turns episodes
into text, parses the rules that a model proposes, and collects them as candidates. ``filtering`` merges duplicates and resolves
contradictions, by evidence or with a model.
"""
