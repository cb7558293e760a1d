"""Agents that play worlds, and everything around them.

``base`` is the contract of an agent. ``config`` reads settings, ``trust`` guards against settings of a foreign folder,
``protocols`` has the settings of published figures, and ``setup`` makes agent, model and world. ``agents`` has the agents,
``roles`` their prompts and parsers, ``models`` the language models, ``networks`` and ``processes`` computation, ``skills`` the
text-command controller, ``episodes`` the loop and its records, and ``evaluation`` runs and reports. ``alfred``, ``cluster``,
``explorer``, ``training`` and ``integrations`` are optional parts that build on them.
"""
