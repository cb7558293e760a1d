"""Sends requests to an endpoint, for chats and embeddings, classifies its failures and decides on retries.

The SDK's clients are used without its settings from the environment. The SDK takes seconds to import: it is imported on first
use.
"""

from __future__ import annotations

import asyncio
import logging
import math
import os
import random
import re
import time
import zlib
from collections.abc import Callable, Generator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from email.utils import parsedate_to_datetime
from http.cookiejar import CookieJar, DefaultCookiePolicy
from typing import TYPE_CHECKING, Any, TypeVar, cast

from housequest.agent.models.base import printable_line
from housequest.agent.models.keys import PLACEHOLDER, Endpoint, load_keys
from housequest.agent.models.openai.dialect import Refusal, read_refusal
from housequest.agent.models.openai.protocol import HEAR, SAID, FailedInside, NotACompletion, StreamedReply, at, count, listed
from housequest.agent.models.openai.redaction import Redactor
from housequest.agent.models.registry import CallOptions

if TYPE_CHECKING:
    from httpx2 import AsyncByteStream, Request, Response
    from openai import AsyncOpenAI

T = TypeVar("T")

LARGEST_ANSWER = 1 << 20
"""Bytes of the longest answer that is read; a reply of 512 tokens has a few thousand."""
LARGEST_STREAM = 1 << 24
"""Bytes of the longest streamed answer that is read: each token adds a few hundred bytes."""
CALLS_A_POOL = 16
"""Calls in flight in one pool of connections; the work for each call grows with the size of the pool."""
MOST_POOLS = 256
_HEADERS = frozenset({"accept", "connection", "content-length", "content-type", "host", "transfer-encoding", "user-agent"})
FIRST_WAIT = 0.5
LONGEST_BACKOFF = 20.0
LONGEST_WAIT = 60.0
"""The longest retry-after, in seconds, that is waited for; more counts as a failure."""
MOST_EARLY = 60
"""429s of one call that are not counted, because the limit was lowered after it was sent."""
PATIENCE = 3
"""Additional retries for a server that is busy or not ready, each after about `LONGEST_BACKOFF`."""
SLOW_RETRIES = 2
"""Most retries after a timeout: each takes as long again, and may cost money."""
OVERFLOW, BROKEN = "context", "a dropped connection"
_AGAIN = frozenset({408, 409, 429})
_NUMBER = re.compile(r"\d+")

_log = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class CallFailure:
    """An attempt that brought no answer.

    ``refusal`` is the server's message, if it may be about the request; ``unsaid``: about any part of it. ``again``: a retry
    may succeed. ``slow``: the call timed out. ``asked``: the server's retry-after in seconds. ``crowded``: too many calls
    (429); ``early``: the limit was lowered after the call was sent. ``fatal``: every other call would fail too.
    """

    what: str
    way_out: str
    kind: str
    again: bool = False
    slow: bool = False
    asked: float | None = None
    refusal: Refusal | None = None
    unsaid: bool = False
    crowded: bool = False
    early: bool = False
    fatal: bool = False

    @property
    def of_images(self) -> CallFailure:
        """The same for a call with images: a limit on their number is fatal, since every long episode reaches it."""
        if self.refusal is None or not SAID["many_images"].search(self.refusal.message):
            return self
        way_out = "Have the server take more images in a prompt (vLLM: --limit-mm-per-prompt), or leave out --grant view."
        return replace(self, way_out=way_out, fatal=True)


def _refused(
    status: int | None, headers: Mapping[str, str], refusal: Refusal, key: str, *, answered: bool, inside: bool = False
) -> CallFailure:
    """Classify an error ``status`` (None: not told); ``key`` is the advice for a refused key."""
    said = f" ({refusal.message})" if refusal.message else ""
    if status is None:
        way_out = "Try again later; if it lasts, check that the address is an OpenAI-compatible one (it often ends in /v1)."
        return CallFailure(f"answered without a reply{said}", way_out, "no reply", again=True, refusal=refusal)
    what, kind = f"answered {'200 with the error ' * inside}{status}{said}", f"status {status}"
    if 300 <= status < 400:
        what = f"redirects to {headers.get('location', 'nowhere')}, and keys are not sent to another address"
        return CallFailure(what, "Name that address instead.", kind, fatal=not answered)
    if status in {401, 403}:
        return CallFailure(f"refused access with {status}{said}", key, kind, fatal=not answered, refusal=refusal)
    if status == 404:
        way_out = "Check the model's name, and that the address is complete (it often ends in /v1)."
        return CallFailure(what, way_out, kind, fatal=not answered)
    soon = 0 < (retry_after(headers, time.time()) or 0) <= LONGEST_WAIT  # some daily quotas refill continuously
    if status == 402 or (SAID["broke"].search(f"{refusal.code} {refusal.message}") and not soon):
        return CallFailure(what, "Check the account's balance and quota.", kind, fatal=True)
    if status in _AGAIN or status >= 500:
        asked = retry_after(headers, time.time(), reset=status == 429)
        wish = f" and asks to wait {asked:.0f} seconds" if asked is not None and asked > LONGEST_WAIT else ""
        way_out = "Try again later, or with a lower --concurrency."
        # Some servers answer 500 if a chat template raises.
        told = refusal if status in {500, 501} else None
        return CallFailure(f"{what}{wish}", way_out, kind, again=True, asked=asked, crowded=status == 429, refusal=told)
    if SAID["too_long_code"].search(refusal.code) or SAID["too_long"].search(refusal.message):
        # No parameter is to blame. The largest number in the message is the length of the prompt.
        named = [int(number) for number in _NUMBER.findall(refusal.message[:2_000]) if len(number) < 9]
        more = -(-(max(named) + 1_024) // 1_024) * 1_024 if named else "N"
        how = f"llama-server -c {more}, vLLM --max-model-len {more}"
        way_out = f"Start its server with more ({how}), or let the agent see less."
        return CallFailure(f"has a context that is too short for the prompt: it answered {status}{said}", way_out, OVERFLOW)
    way_out = "Check the model's name and settings."
    if any(name in refusal.words for name in ("reasoning", "thinking", "think")):
        way_out = "Name the model without ?thinking, or with another value."
    return CallFailure(what, way_out, kind, refusal=refusal, unsaid=status in {400, 422})


def retry_after(headers: Mapping[str, str], now: float, *, reset: bool = False) -> float | None:
    """Seconds to wait according to the headers; None if they do not say.

    With ``reset``, the time at which a rate limit resets counts, too: a date, or seconds as ``6m0s``.
    """
    for header, seconds in (("retry-after-ms", 0.001), ("retry-after", 1.0)):
        try:
            asked = float(headers.get(header, "")) * seconds
        except ValueError:
            continue
        return asked if math.isfinite(asked) and asked > 0 else None
    try:
        left = parsedate_to_datetime(headers.get("retry-after", "")).timestamp() - now
        return left if left > 0 else None
    except (ValueError, TypeError, OverflowError, OSError):
        pass
    waits = [_until(headers.get(f"x-ratelimit-reset{of}", ""), now) for of in ("", "-requests", "-tokens")] if reset else []
    return min((wait for wait in waits if wait > 0), default=None)


def _until(told: str, now: float) -> float:
    """Seconds until a time given as a timestamp or duration in seconds or milliseconds, or with units; 0 if unreadable."""
    if re.fullmatch(r"[0-9]{1,16}(\.[0-9]{1,9})?", told):
        number = float(told)
        return number / 1_000 - now if number > 1e11 else number - now if number > 1e8 else number
    parts = re.fullmatch(r"(?:(\d{1,4})h)?(?:(\d{1,4})m(?!s))?(?:(\d{1,5}(?:\.\d{1,9})?)s)?(?:(\d{1,5})ms)?", told)
    units = (3_600.0, 60.0, 1.0, 0.001)
    return sum(float(part) * unit for part, unit in zip(parts.groups(), units, strict=True) if part) if parts else 0.0


def backoff(failures: int, chance: float, asked: float | None = None) -> float:
    """Seconds to wait after so many failures: doubling, bounded, with jitter by ``chance`` in [0, 1), at least ``asked``."""
    return max(min(FIRST_WAIT * 2.0 ** min(failures - 1, 30), LONGEST_BACKOFF) * (1 - chance / 4), asked or 0.0)


class Attempts:
    """Counts the failures of one call and decides on retries."""

    def __init__(self, calls: CallOptions) -> None:
        self._calls = calls
        self._failures = self._early = 0

    def wait_after(self, failure: CallFailure) -> float | None:
        """Seconds to wait before the next attempt; None to give up with ``failure``."""
        if failure.early and self._early < MOST_EARLY:
            self._early += 1
        else:
            self._failures += 1
        if not failure.again or self._failures > self._retries(failure) or (failure.asked or 0.0) > LONGEST_WAIT:
            return None
        return backoff(max(self._failures, 1), random.random(), failure.asked) * self._calls.wait

    def tried(self, failure: CallFailure, made: int) -> str:
        """Describe which attempt ``failure`` was, after ``made`` attempts; "" if there is never a second."""
        most = made + max(0, self._retries(failure) + 1 - self._failures)
        return f", attempt {made} of at most {most}" if failure.again else ""

    def _retries(self, failure: CallFailure) -> int:
        if failure.slow:
            return min(self._calls.retries, SLOW_RETRIES)
        # Limits per minute and loading a model take longer than other failures.
        return self._calls.retries + PATIENCE * (self._calls.retries > 0 and (failure.crowded or failure.kind == "status 503"))


async def _bound(response: Response) -> None:
    import httpx2

    # A small compressed answer can unpack to a huge one. It was asked for uncompressed, which some servers ignore.
    packed = response.headers.pop("content-encoding", "identity").lower()
    if packed not in {"identity", "gzip", "x-gzip", "deflate"}:
        raise NotACompletion(f"answered with a compressed body ({packed}), which was not asked for")
    unpack = None if packed == "identity" else zlib.decompressobj(zlib.MAX_WBITS | 32)
    stream, content, size = cast("AsyncByteStream", response.stream), bytearray(), 0
    # Events may come unasked or with another content type, so they are detected by their form.
    reply = StreamedReply(HEAR.get()) if response.status_code == 200 else None
    take = content.extend if reply is None else reply.take
    try:
        async for chunk in stream:
            most = LARGEST_STREAM if reply is not None and reply.streams else LARGEST_ANSWER
            piece = unpack.decompress(chunk, most - size + 1) if unpack else chunk
            size += len(piece)
            if size > most:
                raise NotACompletion(f"answered with more than {most >> 20} MiB")
            take(piece)
    except zlib.error:
        raise NotACompletion("answered with a compressed body that cannot be read") from None
    finally:
        await stream.aclose()
    whole = bytes(content) if reply is None or not size else reply.whole()
    if whole is None:
        raise httpx2.RemoteProtocolError("the reply broke off")
    response.stream = httpx2.ByteStream(whole)


class Clients:
    """The SDK's clients for one endpoint and event loop, each with a pool of connections; the first are filled first."""

    def __init__(self, server: Server) -> None:
        import httpx2
        import openai

        self._server, self._sdk = server, openai.AsyncOpenAI
        self._tls = httpx2.create_ssl_context()  # shared, since it takes tens of milliseconds
        self._calls: dict[AsyncOpenAI, int] = {}

    def __len__(self) -> int:
        return len(self._calls)

    @contextmanager
    def lend(self) -> Generator[AsyncOpenAI]:
        """A client for one call."""
        client = next((one for one, calls in self._calls.items() if calls < CALLS_A_POOL), None) or self._another()
        self._calls[client] += 1
        try:
            yield client
        finally:
            self._calls[client] -= 1

    def _another(self) -> AsyncOpenAI:
        """Make a client without redirects, retries and cookies; at `MOST_POOLS`, return the least busy one."""
        import httpx2

        if len(self) >= MOST_POOLS:
            return min(self._calls, key=lambda one: self._calls[one])
        server, key, headers = self._server, self._server.key, self._server.headers

        async def sent_by_us(request: Request) -> None:
            # The SDK adds OPENAI_CUSTOM_HEADERS, organisation and project from the environment.
            kept = {
                name: value for name, value in request.headers.items() if name in _HEADERS or name.startswith("x-stainless-")
            }
            ours = {"accept-encoding": "identity", "authorization": f"Bearer {key}"}
            if headers and key == PLACEHOLDER:
                del ours["authorization"]  # a server with another header for its key may refuse a placeholder here
            request.headers = httpx2.Headers(kept | ours | {name.lower(): value for name, value in headers.items()})

        connections = httpx2.AsyncClient(
            verify=self._tls,
            # `Server._send` limits the whole call: a read timeout would never end a body that comes byte by byte.
            timeout=httpx2.Timeout(None, connect=min(server.calls.timeout, 10.0)),
            # More calls wait until one ends. Common servers drop idle connections after five seconds.
            limits=httpx2.Limits(max_connections=1_000, max_keepalive_connections=1_000, keepalive_expiry=4.0),
            follow_redirects=False,
            # A proxy from the environment could read traffic to this machine, the key included.
            mounts={f"all://{server.endpoint.host}": None} if server.endpoint.loopback else None,
            cookies=CookieJar(DefaultCookiePolicy(allowed_domains=())),
            event_hooks={"request": [sent_by_us], "response": [_bound]},
        )
        client = self._sdk(
            api_key=key,
            **dict.fromkeys(("admin_api_key", "organization", "project", "webhook_secret"), ""),
            base_url=server.endpoint.url,
            timeout=connections.timeout,
            max_retries=0,
            http_client=connections,
        )
        self._calls[client] = 0
        return client

    async def aclose(self) -> None:
        for client in self._calls:
            await client.close()


class Server:
    """An endpoint; connections are opened later. Raises ``ConfigurationError`` if its key is missing."""

    def __init__(self, endpoint: Endpoint, calls: CallOptions) -> None:
        self.endpoint = endpoint
        self.calls = calls
        self.keys = load_keys() if calls.keys is None else calls.keys
        self.key, self.headers = self.keys.key(endpoint), self.keys.more_headers(endpoint)
        self.extra = self.keys.sent_body(endpoint)
        secrets = [os.environ[name] for name in self.keys.named(endpoint)]
        # Of "Bearer KEY", only the key may come back.
        self.redactor = Redactor(*secrets, *(secret.split()[-1] for secret in secrets))
        self.redactor.guard_logs()
        self._reached = False
        """True once the endpoint sent anything."""
        self.answered = False
        """True once a call succeeded, so that a failure is not fatal for all others."""

    async def clients(self) -> Clients:
        """Make clients for this event loop; the caller closes them."""
        # In a thread, since the SDK is imported: a screen stays responsive.
        return await asyncio.to_thread(Clients, self)

    async def ask(
        self, clients: Clients, path: str, body: Mapping[str, Any], read: Callable[[Response], T | CallFailure]
    ) -> T | CallFailure:
        """Send ``body`` once and ``read`` the answer; ``read`` may raise ``NotACompletion``."""
        import httpx2

        try:
            answer = await self._send(clients, path, body)
            if not answer.is_success:
                return self._failed(answer.status_code, answer, answer.content)
            empty = CallFailure("answered with an empty body", "Check the server's log.", "an empty body", again=True)
            try:
                found = read(answer) if answer.content.strip() else empty
            except FailedInside as error:
                return self._failed(error.status, answer, error.body, inside=True)
        except TimeoutError:
            what = f"did not answer within {self.calls.timeout:g} seconds"
            way_out = "Give it longer with --timeout SECONDS, or use a quicker model or server."
            return CallFailure(what, way_out, "no answer in time", again=True, slow=True)
        except NotACompletion as error:
            return CallFailure(
                str(error), "Check that the address is an OpenAI-compatible one (it often ends in /v1).", "no completion"
            )
        except httpx2.RequestError as error:
            if isinstance(error, httpx2.ConnectError | httpx2.ConnectTimeout | httpx2.ProxyError) and not self._reached:
                # The server is not running: fail at once, not after half a minute of retries.
                way_out = "Check the address, and that the server is running."
                return CallFailure(f"cannot be reached ({error})", way_out, "not reached", fatal=True)
            way_out = "Check the connection and the server's log."
            return CallFailure(f"dropped the connection ({error})", way_out, BROKEN, again=True)
        self.answered = self.answered or not isinstance(found, CallFailure)
        return found

    def _failed(self, status: int | None, answer: Response, body: bytes, *, inside: bool = False) -> CallFailure:
        """Classify an error's ``body``, which may have come ``inside`` a 200."""
        named, refusal = " and ".join(self.keys.named(self.endpoint)), read_refusal(body, self.redactor)
        own = f"Name its key by key_env under {self.endpoint.entry} in your own housequest.toml."
        advice = f"Check the key in {named}." if named else own
        return _refused(status, answer.headers, refusal, advice, answered=self.answered, inside=inside)

    async def _send(self, clients: Clients, url: str, body: Mapping[str, Any] | None = None) -> Response:
        """POST ``body``, or GET without one. The SDK's typed methods would walk through the whole conversation each time."""
        import httpx2
        import openai

        try:
            with clients.lend() as client:
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

    async def room(self, clients: Clients, model: str, said: str | Sequence[Mapping[str, Any]]) -> int | None:
        """Tokens left in the context after a prompt, counted by the server's tokenizer; None if it cannot count."""
        plain = isinstance(said, str)
        # vLLM counts a text or a conversation, and returns the size of the context.
        prompt = {"prompt": said} if plain else {"messages": said, "add_generation_prompt": True}
        counted = await self._beside(clients, "/tokenize", {"model": model, **prompt})
        used, size = count(counted, "count"), count(counted, "max_model_len")
        if used is not None and size is not None:
            return size - used
        # llama.cpp's server applies the template and counts in two calls. ``n_ctx`` is the context of one slot.
        size = count(await self._beside(clients, "/props"), "default_generation_settings", "n_ctx")
        if size is None:
            return None
        written = said if plain else at(await self._beside(clients, "/apply-template", {"messages": said}), "prompt")
        if not isinstance(written, str):
            return None
        asked = {"content": written, "add_special": True, "parse_special": not plain}
        tokens = at(await self._beside(clients, "/tokenize", asked), "tokens")
        return None if tokens is None else size - len(listed(tokens))

    async def _beside(self, clients: Clients, path: str, body: Mapping[str, Any] | None = None) -> object:
        """Call a path at the server's root, outside OpenAI's protocol; None without a JSON answer."""
        import httpx2

        try:
            answer = await self._send(clients, f"{self.endpoint.url.removesuffix('/v1')}{path}", body)
            return answer.raise_for_status().json()
        except (TimeoutError, NotACompletion, ValueError, httpx2.HTTPError) as error:
            _log.info("%s has no %s: %s", self.endpoint.address, path, self.redactor.text(str(error)))
            return None

    def said(self, failure: CallFailure, longest: int) -> str:
        """Describe ``failure`` on one line without the key."""
        return printable_line(self.redactor.text(failure.what), longest)
