"""An endpoint as it is asked, for chats and for embeddings: with its key, which stays out of all that comes back.

What its failures mean, whether a call is tried again, and the SDK's clients, without what it takes from the environment, are
here too. The SDK takes seconds to import: it is imported on first use.
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
from importlib import import_module
from typing import TYPE_CHECKING, Any, TypeVar, cast

from housequest.agent.models.base import printable_line
from housequest.agent.models.keys import PLACEHOLDER, Endpoint, load_keys
from housequest.agent.models.openai.dialect import Refusal, read_refusal
from housequest.agent.models.openai.protocol import HEAR, FailedInside, NotACompletion, StreamedReply, at, count, listed
from housequest.agent.models.openai.redaction import Redactor
from housequest.agent.models.registry import CallOptions

if TYPE_CHECKING:
    from httpx2 import AsyncByteStream, Request, Response
    from openai import AsyncOpenAI

T = TypeVar("T")

LARGEST_ANSWER = 1 << 20
"""Bytes of an answer that are read; a reply of 512 tokens has some thousand."""
LARGEST_STREAM = 1 << 24
"""Bytes of a streamed answer that are read: each token comes with some hundred bytes around it."""
CALLS_A_POOL = 16
"""Calls in flight in one pool of connections; what a pool does for each call grows with its connections."""
MOST_POOLS = 256
_HEADERS = frozenset({"accept", "connection", "content-length", "content-type", "host", "transfer-encoding", "user-agent"})
FIRST_WAIT = 0.5
LONGEST_BACKOFF = 20.0
LONGEST_WAIT = 60.0
"""Seconds that a server may ask for before the next attempt; asking for more counts as a refusal."""
MOST_EARLY = 60
"""Refusals of one call that are not counted as failures, because the limit was lowered after it was sent."""
PATIENCE = 3
"""Further attempts after the others, each after some `LONGEST_BACKOFF`, at a server that is busy or not ready."""
SLOW_RETRIES = 2
"""Further attempts at most after one that ran out of time: each takes as long again, and may be paid for."""
OVERFLOW, BROKEN = "context", "a dropped connection"
_AGAIN = frozenset({408, 409, 429})
_MANY_IMAGES = re.compile(r"\b\d+ image|\btoo many images\b", re.IGNORECASE)
"""How servers refuse the images of a prompt for their number, which grows with each episode."""
_TOO_LONG = re.compile(
    r"(?<![\w])context (?:size|length|window|limit)(?![\w])|maximum context|context .{0,30}overflow"
    r"|(?:exceed|longer than|larger than|beyond|fit)\w*.{0,30}\bcontext\b"
    r"|(?:prompt|inputs?|messages?|tokens? in request|token count)\b.{0,60}"
    r"(?:too long|too many|exceed|maximum|must have less|must be <=)"
    r"|maximum (?:prompt|input|sequence) length|request body too large"
    r"|too many tokens|range of input length|reduce the (?:length|size)|exceed\w* model token limit",
    re.IGNORECASE | re.DOTALL,
)
_TOO_LONG_CODE = re.compile(r"context_length|context_size|context_window", re.IGNORECASE)
"""How servers refuse a prompt because the context does not hold it."""
_NUMBER = re.compile(r"\d+")
_BROKE = re.compile(r"insufficient.{0,3}(quota|balance|credit|fund)|per.day", re.IGNORECASE)
"""How servers say that nothing is left to spend, which no waiting mends."""

_log = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class CallFailure:
    """An attempt that brought no answer.

    ``kind`` is the sort of failure; ``refusal`` is what the server said, if that may be about the request, and ``unsaid``: it
    may be about any part of it; ``again``: another attempt may succeed; ``slow``: it took all the time that a call has;
    ``asked``: seconds that the server asks to wait; ``crowded``: there were too many calls, ``early``: for a limit that was
    lowered after the call was sent; ``fatal``: every other call would fail too.
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
        """The same of a call with images: every long episode meets a limit on their number, so that is fatal."""
        if self.refusal is None or not _MANY_IMAGES.search(self.refusal.message):
            return self
        way_out = "Have the server take more images in a prompt (vLLM: --limit-mm-per-prompt), or leave out --grant view."
        return replace(self, way_out=way_out, fatal=True)


def _refused(
    status: int | None, headers: Mapping[str, str], refusal: Refusal, key: str, *, answered: bool, inside: bool = False
) -> CallFailure:
    """The failure of a ``status`` that is none of success, or that nobody told; ``key`` says what to do about a refused key."""
    said = f" ({refusal.message})" if refusal.message else ""
    if status is None:
        way_out = "Try again later; if it lasts, check that the address is an OpenAI-compatible one (it often ends in /v1)."
        return CallFailure(f"answered without a reply{said}", way_out, "no reply", again=True, refusal=refusal)
    what, kind = f"answered {'200 with the error ' * inside}{status}{said}", f"status {status}"
    if 300 <= status < 400:
        what = f"sends on to {headers.get('location', 'nowhere')}, and a key is not carried to another address"
        return CallFailure(what, "Name that address instead.", kind, fatal=not answered)
    if status in {401, 403}:
        return CallFailure(f"refused access with {status}{said}", key, kind, fatal=not answered, refusal=refusal)
    if status == 404:
        way_out = "Check the model's name, and that the address is complete (it often ends in /v1)."
        return CallFailure(what, way_out, kind, fatal=not answered)
    soon = 0 < (retry_after(headers, time.time()) or 0) <= LONGEST_WAIT  # some count a day's calls as they come
    if status == 402 or (_BROKE.search(f"{refusal.code} {refusal.message}") and not soon):
        return CallFailure(what, "Check the account's balance and quota.", kind, fatal=True)
    if status in _AGAIN or status >= 500:
        asked = retry_after(headers, time.time(), reset=status == 429)
        wish = f" and asks to wait {asked:.0f} seconds" if asked is not None and asked > LONGEST_WAIT else ""
        way_out = "Try again later, or with a lower --concurrency."
        # A template that raises is an error of the server's own, to some.
        told = refusal if status in {500, 501} else None
        return CallFailure(f"{what}{wish}", way_out, kind, again=True, asked=asked, crowded=status == 429, refusal=told)
    if _TOO_LONG_CODE.search(refusal.code) or _TOO_LONG.search(refusal.message):
        # No parameter is to blame, so it is no refusal of one. The largest number that is named is that of the prompt's tokens.
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
    """Seconds that a server asks to wait, in seconds, milliseconds or as a date after ``now``; None where it asks for none.

    With ``reset``, the time at which its limit begins anew counts, too: a date, or seconds as ``6m0s``.
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
    """Seconds until a time that is told in seconds or milliseconds, of a clock or from now, or in units; 0 if otherwise."""
    if re.fullmatch(r"[0-9]{1,16}(\.[0-9]{1,9})?", told):
        number = float(told)
        return number / 1_000 - now if number > 1e11 else number - now if number > 1e8 else number
    parts = re.fullmatch(r"(?:(\d{1,4})h)?(?:(\d{1,4})m(?!s))?(?:(\d{1,5}(?:\.\d{1,9})?)s)?(?:(\d{1,5})ms)?", told)
    units = (3_600.0, 60.0, 1.0, 0.001)
    return sum(float(part) * unit for part, unit in zip(parts.groups(), units, strict=True) if part) if parts else 0.0


def backoff(failures: int, chance: float, asked: float | None = None) -> float:
    """Seconds to wait after so many failures: doubling, bounded, less by ``chance`` in [0, 1), at least what was ``asked``."""
    return max(min(FIRST_WAIT * 2.0 ** min(failures - 1, 30), LONGEST_BACKOFF) * (1 - chance / 4), asked or 0.0)


class Attempts:
    """Counts the failures of one call, and says whether it is tried again."""

    def __init__(self, calls: CallOptions) -> None:
        self._calls = calls
        self._failures = self._early = 0

    def wait_after(self, failure: CallFailure) -> float | None:
        """Seconds to wait before the next attempt; None where ``failure`` is the call's."""
        if failure.early and self._early < MOST_EARLY:
            self._early += 1
        else:
            self._failures += 1
        if not failure.again or self._failures > self._retries(failure) or (failure.asked or 0.0) > LONGEST_WAIT:
            return None
        return backoff(max(self._failures, 1), random.random(), failure.asked) * self._calls.wait

    def tried(self, failure: CallFailure, made: int) -> str:
        """Which of how many attempts ``failure`` was, after so many ``made``; "" where there could be only one."""
        most = made + max(0, self._retries(failure) + 1 - self._failures)
        return f", attempt {made} of at most {most}" if failure.again else ""

    def _retries(self, failure: CallFailure) -> int:
        if failure.slow:
            return min(self._calls.retries, SLOW_RETRIES)
        # Limits of calls a minute, and loading a model, take longer than other faults.
        return self._calls.retries + PATIENCE * (self._calls.retries > 0 and (failure.crowded or failure.kind == "status 503"))


async def _bound(response: Response) -> None:
    import httpx2

    # Compressed, a small answer can be a huge one. It was asked for uncompressed, which some do not heed.
    packed = response.headers.pop("content-encoding", "identity").lower()
    if packed not in {"identity", "gzip", "x-gzip", "deflate"}:
        raise NotACompletion(f"answered with a compressed body ({packed}), which was not asked for")
    unpack = None if packed == "identity" else zlib.decompressobj(zlib.MAX_WBITS | 32)
    stream, content, size = cast("AsyncByteStream", response.stream), bytearray(), 0
    # Events come unasked, or as another type of content: they show by themselves.
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
    """Clients of one event loop that send ``key`` and ``headers`` to one endpoint, each with a pool of connections; the first
    fill first."""

    def __init__(self, endpoint: Endpoint, key: str, timeout: float, headers: Mapping[str, str]) -> None:
        import httpx2

        self._endpoint, self._key, self._timeout, self._headers = endpoint, key, timeout, headers
        self._tls = httpx2.create_ssl_context()  # tens of milliseconds, and the same for all
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
        """One more client, which neither redirects nor retries nor keeps cookies; if there are enough, the least busy one.

        Only the time to connect is limited here. The caller limits the whole call: a body that dribbles in never exceeds the
        time between two reads.
        """
        import httpx2
        import openai

        if len(self) >= MOST_POOLS:
            return min(self._calls, key=lambda one: self._calls[one])
        key, headers = self._key, self._headers

        async def sent_by_us(request: Request) -> None:
            # The SDK adds OPENAI_CUSTOM_HEADERS, organisation and project from the environment by itself.
            kept = {
                name: value for name, value in request.headers.items() if name in _HEADERS or name.startswith("x-stainless-")
            }
            ours = {"accept-encoding": "identity", "authorization": f"Bearer {key}"}
            if headers and key == PLACEHOLDER:
                del ours["authorization"]  # who takes the key elsewhere may refuse one that is none
            request.headers = httpx2.Headers(kept | ours | {name.lower(): value for name, value in headers.items()})

        connections = httpx2.AsyncClient(
            verify=self._tls,
            timeout=httpx2.Timeout(None, connect=min(self._timeout, 10.0)),
            # More calls wait until one ends. Common servers drop idle connections after five seconds.
            limits=httpx2.Limits(max_connections=1_000, max_keepalive_connections=1_000, keepalive_expiry=4.0),
            follow_redirects=False,
            # A proxy of the environment would read what is meant for this machine, the key included.
            mounts={f"all://{self._endpoint.host}": None} if self._endpoint.loopback else None,
            cookies=CookieJar(DefaultCookiePolicy(allowed_domains=())),
            event_hooks={"request": [sent_by_us], "response": [_bound]},
        )
        client = openai.AsyncOpenAI(
            api_key=key,
            **dict.fromkeys(("admin_api_key", "organization", "project", "webhook_secret"), ""),
            base_url=self._endpoint.url,
            timeout=connections.timeout,
            max_retries=0,
            http_client=connections,
        )
        self._calls[client] = 0
        return client

    async def aclose(self) -> None:
        """Close all connections."""
        for client in self._calls:
            await client.close()


class Server:
    """An endpoint. Raises ``ConfigurationError`` when the key that belongs to it is missing; nothing is opened yet."""

    def __init__(self, endpoint: Endpoint, calls: CallOptions) -> None:
        self.endpoint = endpoint
        self.calls = calls
        self.keys = load_keys() if calls.keys is None else calls.keys
        self._key, self._headers = self.keys.key(endpoint), self.keys.more_headers(endpoint)
        self.extra = self.keys.sent_body(endpoint)
        secrets = [os.environ[name] for name in self.keys.named(endpoint)]
        # Of "Bearer KEY", the key alone may come back.
        self.redactor = Redactor(*secrets, *(secret.split()[-1] for secret in secrets))
        self.redactor.guard_logs()
        self._reached = False
        """Whether the endpoint sent anything, and so is there."""
        self.answered = False
        """Whether a call succeeded, so that no failure is every other call's."""

    async def clients(self) -> Clients:
        """Clients for calls of this event loop, which the caller closes."""
        # In a thread, since a screen may be running meanwhile.
        await asyncio.to_thread(import_module, "openai")
        return await asyncio.to_thread(Clients, self.endpoint, self._key, self.calls.timeout, self._headers)

    async def ask(
        self, clients: Clients, path: str, body: Mapping[str, Any], read: Callable[[Response], T | CallFailure]
    ) -> T | CallFailure:
        """What ``read`` makes of the answer to ``body``, in one attempt; ``read`` may raise ``NotACompletion``."""
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
                # The server is not running: that is said at once, not after half a minute of retries.
                way_out = "Check the address, and that the server is running."
                return CallFailure(f"cannot be reached ({error})", way_out, "not reached", fatal=True)
            way_out = "Check the connection and the server's log."
            return CallFailure(f"dropped the connection ({error})", way_out, BROKEN, again=True)
        self.answered = self.answered or not isinstance(found, CallFailure)
        return found

    def _failed(self, status: int | None, answer: Response, body: bytes, *, inside: bool = False) -> CallFailure:
        """The failure of ``status`` with an error's ``body``, which may have come ``inside`` a 200."""
        named, refusal = " and ".join(self.keys.named(self.endpoint)), read_refusal(body, self.redactor)
        own = f"Name its key by key_env under {self.endpoint.entry} in your own housequest.toml."
        advice = f"Check the key in {named}." if named else own
        return _refused(status, answer.headers, refusal, advice, answered=self.answered, inside=inside)

    async def _send(self, clients: Clients, url: str, body: Mapping[str, Any] | None = None) -> Response:
        """What the server answers to ``body``, or without one to a GET. The SDK's methods for each path walk through the whole
        growing conversation at every call; this sends it as it is."""
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
        """Tokens that the context has beside a prompt, by the server's own tokenizer; None where it cannot be asked."""
        plain = isinstance(said, str)
        # vLLM counts a text or a conversation, and says how much its model reads.
        prompt = {"prompt": said} if plain else {"messages": said, "add_generation_prompt": True}
        counted = await self._beside(clients, "/tokenize", {"model": model, **prompt})
        used, size = count(counted, "count"), count(counted, "max_model_len")
        if used is not None and size is not None:
            return size - used
        # llama.cpp's server writes the conversation as a text, and counts the tokens of texts. ``n_ctx`` is that of a slot.
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
        """What the server answers beside OpenAI's protocol, at its root; None where it has nothing there, or no JSON."""
        import httpx2

        try:
            answer = await self._send(clients, f"{self.endpoint.url.removesuffix('/v1')}{path}", body)
            return answer.raise_for_status().json()
        except (TimeoutError, NotACompletion, ValueError, httpx2.HTTPError) as error:
            _log.info("%s has no %s: %s", self.endpoint.address, path, self.redactor.text(str(error)))
            return None

    def said(self, failure: CallFailure, longest: int) -> str:
        """What went wrong, on one line without the key."""
        return printable_line(self.redactor.text(failure.what), longest)
