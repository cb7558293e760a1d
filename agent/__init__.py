"""Agents that play worlds, and everything round them.

``base`` is the contract of an agent; ``config`` reads settings and ``setup`` turns them into one. ``agents`` holds the agents,
``roles`` how a model is prompted and its replies read, ``models`` the language models, ``skills`` the text-command controller,
``episodes`` the loop and its records. ``evaluation``, ``explorer``, ``plans``, ``training`` and ``integrations`` build on them.
"""
