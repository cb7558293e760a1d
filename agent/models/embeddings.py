"""Embeddings, for choosing examples by similarity: from an OpenAI-compatible endpoint, or a model on this machine."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, cast

from agent.models.openai.keys import KeyRing, load_keys
from agent.models.openai.provider import EndpointName, read_openai_name, told_destination
from agent.models.openai.redaction import Redactor
from agent.models.openai.wire import NotACompletion, at, finite, listed
from agent.models.text import encodable, printable_line
from worlds.errors import ConfigurationError, ModelError, shown

if TYPE_CHECKING:
    from openai import AsyncOpenAI

BATCH = 8
"""Texts a call: few enough for their vectors to stay well below the limit on an answer."""

LONGEST_TEXT = 4_000

Vector = tuple[float, ...]


class EndpointEmbedder:
    """An embedding model behind an OpenAI-compatible endpoint; ``timeout`` limits each call, in seconds."""

    def __init__(self, served: EndpointName, key: str, timeout: float) -> None:
        self._served = served
        self._key = key
        self._redactor = Redactor(key)
        self._redactor.guard_logs()
        self._timeout = timeout
        self.name = f"openai:{served}"

    async def embed(self, texts: Sequence[str]) -> Sequence[Vector]:
        """A vector for each of ``texts``. Raises ``ModelError``."""
        from agent.models.openai.connection import connect

        client = await asyncio.to_thread(connect, self._served.endpoint, self._key, self._timeout)
        try:
            batches = [texts[start : start + BATCH] for start in range(0, len(texts), BATCH)]
            vectors = [vector for batch in batches for vector in await self._batch(client, batch)]
        finally:
            await client.close()
        if len({len(vector) for vector in vectors}) > 1:
            raise self._error("answered with vectors of different lengths")
        return vectors

    async def _batch(self, client: AsyncOpenAI, texts: Sequence[str]) -> list[Vector]:
        import openai

        given = [encodable(text[:LONGEST_TEXT]) or " " for text in texts]
        try:
            async with asyncio.timeout(self._timeout):
                # Read by hand: the SDK believes the shape of what it is sent.
                create = client.embeddings.with_raw_response.create
                answer = await create(model=self._served.model, input=given, encoding_format="float")
            return _vectors(answer.http_response.json(), len(texts))
        except TimeoutError:
            raise self._error(f"did not answer within {self._timeout:g} seconds") from None
        except openai.APIStatusError as error:
            raise self._error(f"answered {error.status_code}: {error.response.text}") from None
        except openai.APIConnectionError as error:
            raise self._error(f"cannot be reached ({error.__cause__ or error})") from None
        except (NotACompletion, ValueError, RecursionError) as error:
            raise self._error(f"answered with what are no vectors ({error})") from None

    def _error(self, what: str) -> ModelError:
        reason = printable_line(self._redactor.text(what), 300)
        way_out = "Check the embedding model's name and address, or choose examples by bm25, which needs none."
        return ModelError(f"{self.name}: {reason}. {way_out}", recorded=f"The embedding model {reason}. {way_out}")


class LocalEmbedder:
    """A static embedding model (model2vec) in a folder of this machine; nothing is downloaded. Needs the extra ``embed``."""

    def __init__(self, folder: str) -> None:
        self._folder = folder
        self._loaded: Any = None
        self._loading = asyncio.Lock()
        self.name = f"local:{folder}"

    async def embed(self, texts: Sequence[str]) -> Sequence[Vector]:
        """A vector for each of ``texts``. Raises ``ConfigurationError``."""
        async with self._loading:
            if self._loaded is None:
                self._loaded = await asyncio.to_thread(self._load)
            found = await asyncio.to_thread(self._loaded.encode, [encodable(text[:LONGEST_TEXT]) for text in texts])
        return [tuple(map(float, vector)) for vector in found]

    def _load(self) -> Any:
        from worlds.paths import given_path

        try:
            from model2vec import StaticModel  # pyright: ignore[reportMissingImports, reportUnknownVariableType]
        except ImportError as error:
            way_out = 'install it with pip install "housequest[embed]"'
            raise ConfigurationError(f"{self.name} needs model2vec ({error}); {way_out}.") from error
        path = given_path(self._folder)
        if not path.is_dir():
            raise ConfigurationError(f"{self.name}: there is no such folder; give one with a model2vec model in it.")
        try:
            return cast("Any", StaticModel).from_pretrained(path)
        except (OSError, ValueError, KeyError) as error:
            raise ConfigurationError(f"{self.name}: this is no model2vec model: {shown(error)}") from error


Embedder = EndpointEmbedder | LocalEmbedder
"""Gives texts as vectors of one length; safe for many calls at once. ``name`` is as a person named it."""


def make_embedder(name: str, *, keys: KeyRing | None = None, timeout: float = 60.0) -> Embedder:
    """Make the embedding model ``name``; nothing is called or loaded yet. Raises ``ConfigurationError``."""
    kind, _, rest = name.partition(":")
    if kind == "local" and rest.strip():
        return LocalEmbedder(rest.strip())
    if kind == "openai":
        parsed = read_openai_name(rest.strip())
        key = (load_keys() if keys is None else keys).key(parsed.endpoint)
        return EndpointEmbedder(parsed, key, timeout)
    forms = "openai:NAME, openai:NAME@http://HOST:PORT/v1 or local:FOLDER"
    raise ConfigurationError(f"There is no embedding model {shown(name, 80)}. Name one as {forms}.")


def goals_go_to(name: str) -> str | None:
    """Where goals go for the embedding model ``name`` if that is another machine, in words. Raises ``ConfigurationError``."""
    kind, _, rest = name.partition(":")
    return told_destination(read_openai_name(rest.strip()).endpoint) if kind == "openai" else None


def _vectors(value: object, number: int) -> list[Vector]:
    entries = listed(at(value, "data"))
    found: dict[object, Vector] = {}
    for place, entry in enumerate(entries):
        index, given = at(entry, "index"), listed(at(entry, "embedding"))
        vector = tuple(one for each in given if (one := finite(each)) is not None)
        if not vector or len(vector) != len(given):
            raise ValueError("an embedding is no list of numbers")
        found[index if isinstance(index, int) else place] = vector
    if set(found) != set(range(number)):
        raise ValueError(f"{len(entries)} for {number} texts")
    return [found[place] for place in range(number)]
