"""What the report of several runs has in common, whether they repeat each other or play again what was lost."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Iterator, Mapping, Sequence

from housequest.agent.evaluation.analysis.compare import Run
from housequest.agent.evaluation.analysis.metrics import Summary
from housequest.agent.evaluation.analysis.published import Measured
from housequest.agent.evaluation.render.report import behind, ceilings_by_type, details, heading
from housequest.agent.evaluation.render.table import Report, Section, Table, named_lines, wrapped


class SeriesReport(Report):
    """Several runs as one: whose episodes ``every`` counts, under one card, and with what they used."""

    @property
    @abstractmethod
    def parts(self) -> Sequence[Run]:
        """The runs, in their order."""

    @property
    @abstractmethod
    def every(self) -> Summary:
        """The figures over the whole series."""

    @property
    @abstractmethod
    def card(self) -> Mapping[str, str]:
        """Under what conditions it was measured."""

    @property
    @abstractmethod
    def measured(self) -> tuple[Measured, ...]:
        """What can stand beside published figures."""

    @abstractmethod
    def tables(self) -> Iterator[Table]:
        """The figures for people."""

    @abstractmethod
    def sentences(self) -> Iterator[str]:
        """What a reader of the tables needs, without what was used."""

    @property
    def heading(self) -> list[tuple[str, str]]:
        """Who played, and the card."""
        return heading(self.parts[0].manifest, self.card)

    def data(self) -> dict[str, object]:
        return {"card": dict(self.card), **details(self.every)}

    def sections(self) -> Iterator[Section]:
        yield named_lines(self.heading, width=10)
        yield behind(self.parts[0].manifest, self.every)
        yield ceilings_by_type(self.every)
        yield from self.tables()
        yield (line for sentence in self.sentences() for line in wrapped(sentence))
