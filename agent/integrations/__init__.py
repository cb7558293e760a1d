"""Integrations with other programs.

``games`` hosts games that clients play by id, ``hosted`` is one such game, and ``mcp_server`` serves them over the Model
Context Protocol: to one client at a pipe, or with ``mcp_http`` to several; ``mcp_sdk`` hides which SDK is there.
``sessions`` are environments for trainers; ``env_server`` serves them by OpenEnv's protocol and AgentGym's. ``listening`` is
an HTTP server that strangers cannot fill. ``inspect_log`` exports a run as a log of inspect_ai, and ``inspect_task`` is a task
there. ``tools`` are ALFWorld's commands as methods, for models that call tools, and ``trl_env`` plays by them in TRL.
"""
