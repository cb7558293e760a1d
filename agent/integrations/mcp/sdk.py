"""The SDK of the Model Context Protocol, in either major version: openenv still needs 1, others 2. Needs the extra ``mcp``."""

from __future__ import annotations

import importlib.util
from typing import TYPE_CHECKING, Any

from housequest.worlds.errors import ConfigurationError

try:
    from mcp.types import ToolAnnotations
    from starlette.requests import Request
    from starlette.types import ASGIApp
except ImportError:
    raise ConfigurationError('This needs the MCP SDK; install it with: pip install "housequest[mcp]"') from None

NEWEST = importlib.util.find_spec("mcp.server.mcpserver") is not None
"""Whether it is version 2, which also speaks the protocol of July 2026."""

if TYPE_CHECKING or NEWEST:
    from mcp.server.mcpserver import Context, MCPServer
    from mcp.server.mcpserver.exceptions import ToolError
    from mcp_types.version import HANDSHAKE_PROTOCOL_VERSIONS as SESSION_PROTOCOLS

    CallContext = Context[Any, Any]

    def empty_server(name: str, version: str, instructions: str) -> MCPServer:
        """Make a server without tools."""
        return MCPServer(name, version=version, instructions=instructions, log_level="ERROR", subscriptions=False)

    def http_app(server: MCPServer) -> ASGIApp:
        """Make the application of ``server`` for this machine; it keeps nothing of a client between two requests."""
        return server.streamable_http_app(stateless_http=True, json_response=True)

else:
    from mcp.server.fastmcp import Context as CallContext
    from mcp.server.fastmcp import FastMCP as MCPServer
    from mcp.server.fastmcp.exceptions import ToolError
    from mcp.shared.version import SUPPORTED_PROTOCOL_VERSIONS as SESSION_PROTOCOLS

    def empty_server(name, version, instructions):
        server = MCPServer(name, instructions, log_level="ERROR", stateless_http=True, json_response=True)
        server._mcp_server.version = version  # there is no public way, and its own version would be told
        return server

    def http_app(server):
        return server.streamable_http_app()


__all__ = [
    "NEWEST",
    "SESSION_PROTOCOLS",
    "CallContext",
    "MCPServer",
    "Request",
    "ToolAnnotations",
    "ToolError",
    "empty_server",
    "http_app",
]
