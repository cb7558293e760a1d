"""An endpoint as it is asked, for chats and for embeddings: with its key, which stays out of all that comes back."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable, Mapping, Sequence
from importlib import import_module
from typing import TYPE_CHECKING, Any, TypeVar

from housequest.agent.models.keys import Endpoint, load_keys
from housequest.agent.models.openai.failures import EMPTY_BODY, Failure, lost, refused
from housequest.agent.models.openai.redaction import Redactor
from housequest.agent.models.openai.replies import NotACompletion, at, count, listed, read_refusal
from housequest.agent.models.provider import CallOptions
from housequest.agent.models.text import printable_line

if TYPE_CHECKING:
    from httpx2 import Response
    from openai import AsyncOpenAI

    from housequest.agent.models.openai.connection import Clients
T = TypeVar("T")

_log = logging.getLogger(__name__)


class Server:
    """An endpoint. Raises ``ConfigurationError`` when the key that belongs to it is missing; nothing is opened yet."""

    def __init__(self, endpoint: Endpoint, calls: CallOptions) -> None:
        self.endpoint = endpoint
        self.calls = calls
        self.keys = load_keys() if calls.keys is None else calls.keys
        self._key = self.keys.key(endpoint)
        self.redactor = Redactor(self._key)
        self.redactor.guard_logs()
        self._reached = False
        """Whether the endpoint sent anything, and so is there."""
        self.answered = False
        """Whether a call succeeded, so that no failure is every other call's."""

    async def clients(self) -> Clients:
        """Clients for calls of this event loop, which the caller closes."""
        # The SDK takes seconds to import, and a screen may be running meanwhile: hence in a thread, on first use.
        connection: Any = await asyncio.to_thread(import_module, "housequest.agent.models.openai.connection")
        return await asyncio.to_thread(connection.Clients, self.endpoint, self._key, self.calls.timeout)

    async def ask(
        self, client: AsyncOpenAI, path: str, body: Mapping[str, Any], read: Callable[[Response], T | Failure]
    ) -> T | Failure:
        """What ``read`` makes of the answer to ``body``, in one attempt; ``read`` may raise ``NotACompletion``."""
        import httpx2

        try:
            answer = await self.send(client, path, body)
            if not answer.is_success:
                refusal = read_refusal(answer.content, self.redactor)
                variable = self.keys.variable(self.endpoint)
                own = f"Name its key by key_env under {self.endpoint.entry} in your own housequest.toml."
                advice = f"Check the key in {variable}." if variable else own
                return refused(answer.status_code, answer.headers, refusal, advice, answered=self.answered)
            found = read(answer) if answer.content.strip() else EMPTY_BODY
        except (TimeoutError, NotACompletion, httpx2.RequestError) as error:
            return lost(error, self.calls.timeout, reached=self._reached)
        self.answered = self.answered or not isinstance(found, Failure)
        return found

    async def send(self, client: AsyncOpenAI, url: str, body: Mapping[str, Any] | None = None) -> Response:
        """What the server answers to ``body``, or without one to a GET. Raises what `lost` reads.

        The SDK's methods for each path walk through the whole growing conversation at every call; this sends it as it is.
        """
        import httpx2
        import openai

        try:
            async with asyncio.timeout(self.calls.timeout):
                if body is None:
                    answer = await client.get(url, cast_to=httpx2.Response)
                else:
                    answer = await client.post(url, cast_to=httpx2.Response, body=dict(body))
        except openai.APIStatusError as error:
            answer = error.response
        except openai.APIConnectionError as error:
            raise error.__cause__ or httpx2.RequestError(str(error)) from None
        self._reached = True
        return answer

    async def room(self, client: AsyncOpenAI, model: str, said: str | Sequence[Mapping[str, Any]]) -> int | None:
        """Tokens that the context has beside a prompt, by the server's own tokenizer; None where it cannot be asked."""
        plain = isinstance(said, str)
        # vLLM counts a text or a conversation, and says how much its model reads.
        prompt = {"prompt": said} if plain else {"messages": said, "add_generation_prompt": True}
        counted = await self._beside(client, "/tokenize", {"model": model, **prompt})
        used, size = count(counted, "count"), count(counted, "max_model_len")
        if used is not None and size is not None:
            return size - used
        # llama.cpp's server writes the conversation as a text, and counts the tokens of texts. ``n_ctx`` is that of a slot.
        size = count(await self._beside(client, "/props"), "default_generation_settings", "n_ctx")
        if size is None:
            return None
        written = said if plain else at(await self._beside(client, "/apply-template", {"messages": said}), "prompt")
        if not isinstance(written, str):
            return None
        asked = {"content": written, "add_special": True, "parse_special": not plain}
        tokens = at(await self._beside(client, "/tokenize", asked), "tokens")
        return None if tokens is None else size - len(listed(tokens))

    async def _beside(self, client: AsyncOpenAI, path: str, body: Mapping[str, Any] | None = None) -> object:
        """What the server answers beside OpenAI's protocol, at its root; None where it has nothing there, or no JSON."""
        import httpx2

        try:
            answer = await self.send(client, f"{self.endpoint.url.removesuffix('/v1')}{path}", body)
            return answer.raise_for_status().json()
        except (TimeoutError, NotACompletion, ValueError, httpx2.HTTPError) as error:
            _log.info("%s has no %s: %s", self.endpoint.address, path, self.redactor.text(str(error)))
            return None

    def said(self, failure: Failure, longest: int) -> str:
        """What went wrong, on one line without the key."""
        return printable_line(self.redactor.text(failure.what), longest)
