"""Agents that play worlds, and everything round them.

``base`` is the contract of an agent. ``config`` reads settings, ``trust`` judges a folder's, ``protocols`` names those of
published figures, and ``setup`` makes agent, model and world of them. ``agents`` holds the agents, ``roles`` how a model is
prompted and its replies read, ``models`` the language models, ``networks`` and ``processes`` what computes, ``skills`` the
text-command controller, ``episodes`` the loop and its records, and ``evaluation`` runs and reports. ``alfred``, ``cluster``,
``explorer``, ``training`` and ``integrations`` are optional parts that build on them.
"""
