"""Roles: a prompt template with a parser for the replies. Each agent's own roles are in its package.

``base`` asks a model and reads its reply, ``messages`` has the parts that prompts share, and ``reading`` finds labelled lines,
commands and high-level plans in replies. ``brief`` renders the short prompts of the built-in model, and reads a person's hints
for it. ``demonstrations`` is the contract for an expert that replies in a model's place.
"""
