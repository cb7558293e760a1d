"""Roles: a prompt template with a parser for the replies. Each agent's own roles lie beside the agent.

``base`` asks a model and reads its reply, ``messages`` has the parts that prompts share, ``reading`` finds labelled lines,
commands and high-level plans in replies, and ``brief`` renders the short prompts of the built-in model, and reads a person's
hints for it. ``demonstrations`` is the contract for what an expert replies in a model's place.
"""
