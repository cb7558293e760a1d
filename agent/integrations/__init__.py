"""Integrations with other programs. Each folder is an optional part; modules that several of them share are here.

``games`` hosts games that clients play by id: ``mcp`` serves them over the Model Context Protocol. ``sessions`` are
environments for trainers: ``env_server`` serves them by OpenEnv's protocol and AgentGym's. ``listening`` is an HTTP server that
limits unknown connections. ``tools`` are ALFWorld's commands as methods for models that call tools, used by ``trl``.
``inspect_ai`` exports runs as logs of inspect_ai, and has a task for it.
"""
