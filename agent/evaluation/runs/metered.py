"""A model whose calls count against a budget. An error that every call would meet stops the run."""

from __future__ import annotations

from collections.abc import Generator, Sequence
from contextlib import contextmanager

from agent.config import Prices
from agent.evaluation.runs.budget import BudgetTracker, RunHalted, Stopped
from agent.models.base import Completion, Message, Model, ModelWrapper, Request, Scores
from agent.models.openai.rate_limiter import RateLimiter
from worlds.errors import ConfigurationError, ModelError


class MeteredModel(ModelWrapper):
    """Calls ``model`` while the budget of ``tracker`` lasts; after that, calls raise ``RunHalted``.

    An error that every other call would meet too also raises it: it stops the run, not one episode.
    """

    def __init__(self, model: Model, tracker: BudgetTracker, prices: Prices | None) -> None:
        super().__init__(model)
        self._tracker = tracker
        self._prices = prices
        tracker.listen(self._close)

    @property
    def active(self) -> int:
        """How many calls are in flight, without those that wait for the endpoint."""
        return self._limiter.active if self._limiter else self._tracker.calling

    @property
    def limit(self) -> int | None:
        """How many calls the endpoint takes at once; None while it has stated no limit."""
        return self._limiter.limit if self._limiter else None

    async def complete(self, request: Request) -> Completion:
        with self._metered() as completed:
            completed.append(await self.model.complete(request))
        return completed[0]

    async def score(self, messages: Sequence[Message], continuations: Sequence[str]) -> Scores:
        with self._halting():
            calls = len(continuations) + 1 if (await self.model.capabilities()).singly else 1
        with self._metered(calls) as completed:
            scores = await self.model.score(messages, continuations)
            completed.append(Completion("", usage=scores.usage, timing=scores.timing))
        return scores

    @contextmanager
    def _metered(self, calls: int = 1) -> Generator[list[Completion]]:
        """Count what is completed inside as ``calls`` calls."""
        completed: list[Completion] = []
        self._tracker.begin(calls)
        try:
            with self._halting():
                yield completed
        finally:
            self._tracker.end(completed[0] if completed else None, self._prices, calls)

    @property
    def _limiter(self) -> RateLimiter | None:
        return getattr(self.model, "limiter", None)

    @contextmanager
    def _halting(self) -> Generator[None]:
        try:
            yield
        except ModelError as error:
            if not error.fatal:
                raise
            self._tracker.stop(Stopped(str(error)))
            raise RunHalted from error
        except ConfigurationError as error:
            self._tracker.stop(error)
            raise RunHalted from error

    def _close(self) -> None:
        if self._limiter:
            self._limiter.close(RunHalted())
