"""Embeddings of texts, from an OpenAI-compatible endpoint or a model on this machine.

They are used to choose examples by similarity, and as input of Action Attention.
"""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from contextlib import aclosing
from pathlib import PurePath
from typing import TYPE_CHECKING, Any, cast

from housequest.agent.models.base import encodable
from housequest.agent.models.openai import OpenAIProvider
from housequest.agent.models.openai.protocol import at, finite, listed
from housequest.agent.models.openai.server import Attempts, CallFailure, Server
from housequest.agent.models.registry import CallOptions
from housequest.knowledge.choosing import cosines
from housequest.worlds.errors import ConfigurationError, ModelError, shown

if TYPE_CHECKING:
    from httpx2 import Response

    from housequest.agent.models.openai.server import Clients

BATCH = 8
"""Texts in one call, so that their vectors stay well below the size limit of an answer."""
LONGEST_TEXT = 4_000
_REFUSALS = frozenset({"status 400", "status 413", "status 422"})
"""Failures that may be about the texts, such as one that is too long."""
_WAY_OUT = "Check the embedding model's name and address; examples can be chosen by bm25 without one."
Vector = tuple[float, ...]


class EndpointEmbedder:
    """An embedding model behind an OpenAI-compatible endpoint, called like `OpenAIModel` but without a rate limiter."""

    def __init__(self, served: OpenAIProvider, calls: CallOptions) -> None:
        self._model = served.model
        self._server = Server(served.endpoint, calls)
        self.name = f"openai:{served.rest}"

    async def embed(self, texts: Sequence[str]) -> Sequence[Vector]:
        """Return a vector for each of ``texts``. Raises ``ModelError``, fatal unless these texts were refused."""
        async with aclosing(await self._server.clients()) as clients:
            batches = [texts[start : start + BATCH] for start in range(0, len(texts), BATCH)]
            vectors = [vector for batch in batches for vector in await self._batch(clients, batch)]
        if len({len(vector) for vector in vectors}) > 1:
            raise self._error(_no_vectors("vectors of different lengths"))
        return vectors

    async def _batch(self, clients: Clients, texts: Sequence[str]) -> list[Vector]:
        given = [encodable(text[:LONGEST_TEXT]) or " " for text in texts]
        body = {"input": given, "model": self._model, "encoding_format": "float"}
        attempts, made = Attempts(self._server.calls), 0
        while True:
            made += 1
            outcome = await self._server.ask(clients, "/embeddings", body, lambda answer: _read(answer, len(texts)))
            if not isinstance(outcome, CallFailure):
                return outcome
            wait = attempts.wait_after(outcome)
            if wait is None:
                raise self._error(outcome, attempts.tried(outcome, made))
            await asyncio.sleep(wait)

    def _error(self, failure: CallFailure, tried: str = "") -> ModelError:
        what = self._server.said(failure, 300)
        recorded = f"The embedding model {what}. {_WAY_OUT}"
        fatal = failure.fatal or failure.kind not in _REFUSALS
        return ModelError(f"{self.name} {what}{tried}. {_WAY_OUT}", recorded=recorded, fatal=fatal, kind=failure.kind)


def _read(answer: Response, number: int) -> list[Vector] | CallFailure:
    try:
        entries = listed(at(answer.json(), "data"))
        found: dict[object, Vector] = {}
        for place, entry in enumerate(entries):
            index, given = at(entry, "index"), listed(at(entry, "embedding"))
            vector = tuple(one for each in given if (one := finite(each)) is not None)
            if not vector or len(vector) != len(given):
                return _no_vectors("an embedding is not a list of numbers")
            found[index if isinstance(index, int) else place] = vector
    except (ValueError, RecursionError) as error:
        return _no_vectors(str(error))
    if set(found) != set(range(number)):
        return _no_vectors(f"{len(entries)} for {number} texts")
    return [found[place] for place in range(number)]


def _no_vectors(what: str) -> CallFailure:
    return CallFailure(f"answered without usable vectors ({what})", _WAY_OUT, "no vectors")


class LocalEmbedder:
    """A static embedding model (model2vec) in a local folder; nothing is downloaded. Needs the extra ``embed``."""

    def __init__(self, folder: str) -> None:
        self._folder = folder
        self._loaded: Any = None
        self._loading = asyncio.Lock()
        self.name = f"local:{folder}"

    async def embed(self, texts: Sequence[str]) -> Sequence[Vector]:
        """Return a vector for each of ``texts``. Raises ``ConfigurationError``."""
        async with self._loading:
            if self._loaded is None:
                self._loaded = await asyncio.to_thread(self._load)
            found = await asyncio.to_thread(self._loaded.encode, [encodable(text[:LONGEST_TEXT]) for text in texts])
        return [tuple(map(float, vector)) for vector in found]

    def _load(self) -> Any:
        from housequest.worlds.paths import given_path

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
            raise ConfigurationError(
                f"{self.name}: this is not a model2vec model ({shown(error)}); give a folder with one."
            ) from error


Embedder = EndpointEmbedder | LocalEmbedder
"""Turns texts into vectors of one length; can be called concurrently. ``name`` is the name given by the user."""


def make_embedder(name: str, calls: CallOptions | None = None) -> Embedder:
    """Make the embedding model ``name`` without calling or loading it. Raises ``ConfigurationError``."""
    match name.partition(":"):
        case "local", _, folder if folder.strip():
            return LocalEmbedder(folder.strip())
        case "openai", _, served:
            return EndpointEmbedder(OpenAIProvider(served.strip()), calls or CallOptions())
        case _:
            forms = "openai:NAME, openai:NAME@http://HOST:PORT/v1 or local:FOLDER"
            raise ConfigurationError(f"There is no embedding model {shown(name, 80)}. Name one as {forms}.")


def model_alone(name: str) -> str:
    """The name of the embedding model without its host or folder, for files that are shared."""
    kind, _, rest = name.partition(":")
    return f"{kind}:{OpenAIProvider(rest).model if kind == 'openai' else PurePath(rest).name}"


def texts_go_to(name: str) -> str | None:
    """Describe the server that gets the texts; None if it is this machine. Raises ``ConfigurationError``."""
    kind, _, rest = name.partition(":")
    return OpenAIProvider(rest.strip()).elsewhere() if kind == "openai" else None


class EmbeddingIndex:
    """Similarities of texts by an embedding model, which is called once for all ``texts`` and once for each query."""

    def __init__(self, texts: Sequence[str], embedder: Embedder) -> None:
        self._texts, self._embedder = tuple(texts), embedder
        self._vectors: tuple[Vector, ...] = ()
        self._asking: asyncio.Future[tuple[Vector, ...]] | None = None

    async def likeness(self, query: str) -> list[float]:
        """The cosine similarity of each text to ``query``. Raises ``ModelError``, fatal unless only this query was refused."""
        vectors = await self._all()
        try:
            (found,) = await self._embedder.embed([query])
        except ModelError as error:
            if not error.fatal:
                # Only the query is at fault if a text that worked before still works.
                await self._embed(self._texts[:1])
            raise
        if any(len(vector) != len(found) for vector in vectors):
            why = f"{self._embedder.name} answered with vectors of different lengths; use another embedding model."
            raise ModelError(why, fatal=True)
        return cosines(found, vectors)

    async def _all(self) -> tuple[Vector, ...]:
        if not self._vectors:
            asking = self._asking
            if asking is None or asking.done() or asking.get_loop() is not asyncio.get_running_loop():
                asking = self._asking = asyncio.ensure_future(self._embed(self._texts))
            # One call serves all who wait for it, also with its failure, and outlives those who are cancelled.
            self._vectors = await asyncio.shield(asking)
        return self._vectors

    async def _embed(self, texts: Sequence[str]) -> tuple[Vector, ...]:
        try:
            return tuple(await self._embedder.embed(texts))
        except ModelError as error:
            raise ModelError(str(error), recorded=error.recorded, fatal=True, kind=error.kind) from error
