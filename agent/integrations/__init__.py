"""Integrations with other programs.

``games`` hosts games that clients play by id, ``hosted`` is one such game, and ``mcp_server`` serves them over the Model
Context Protocol: to one client at a pipe, or with ``mcp_http`` to several. ``inspect_log`` exports a run as a log of
inspect_ai.
"""
