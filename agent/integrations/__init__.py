"""Integrations with other programs. Each of the folders is a part of its own; what several of them need is here.

``games`` says which tasks clients may play, and hosts games that they play by id: ``mcp`` serves them over the Model Context
Protocol. ``sessions`` are environments for trainers: ``env_server`` serves them by OpenEnv's protocol and AgentGym's.
``listening`` is an HTTP server that strangers cannot fill. ``tools`` are ALFWorld's commands as methods, for models that call
tools: ``trl`` plays by them in TRL. ``inspect_ai`` exports a run as a log of inspect_ai, and has a task for it.
"""
