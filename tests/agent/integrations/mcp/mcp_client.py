"""A client of the MCP SDK, with what version 2 calls its ``Client`` where version 1 is installed."""

from __future__ import annotations

from contextlib import AsyncExitStack
from typing import TYPE_CHECKING

from housequest.agent.integrations.mcp.server import NEWEST

if TYPE_CHECKING or NEWEST:
    from mcp import Client
else:
    from mcp import ClientSession
    from mcp.client.streamable_http import streamable_http_client
    from mcp.server.fastmcp import FastMCP
    from mcp.shared.memory import create_connected_server_and_client_session

    class Client:
        """Talks to a server in this process, at an address, or at the two streams that a context manager gives."""

        def __init__(self, server):
            self._server = server
            self._stack = AsyncExitStack()

        async def __aenter__(self):
            enter = self._stack.enter_async_context
            if isinstance(self._server, FastMCP):
                self._session = await enter(create_connected_server_and_client_session(self._server))
            else:
                place = self._server
                read, write, *_ = await enter(streamable_http_client(place) if isinstance(place, str) else place)
                self._session = await enter(ClientSession(read, write))
            begun = await self._session.initialize()
            self.instructions, self.server_info = begun.instructions, begun.serverInfo
            return self

        async def __aexit__(self, *raised):
            return await self._stack.__aexit__(*raised)

        def __getattr__(self, name):
            return getattr(self._session, name)


__all__ = ["Client"]
