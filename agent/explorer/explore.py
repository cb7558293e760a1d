"""Runs an exploration: play, distil, filter, check, and write a rulebook (OPEx, section 3).

Episodes and learning calls, with prompts and replies, are on disk before they are used. Everything else is computed from them,
so resuming after a kill repeats no call and makes the same book.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path

from agent.episodes.moments import recorded_moments
from agent.evaluation.analysis.metrics import Summary
from agent.evaluation.runs.batch import RunOptions, RunProgress, Watcher, run_batch
from agent.evaluation.runs.budget import BudgetTracker
from agent.evaluation.runs.folder import RunFolder
from agent.evaluation.runs.metered import MeteredModel
from agent.evaluation.runs.spec import slug
from agent.explorer.candidates import CandidateRule, Candidates
from agent.explorer.chunks import Chunk, chunks, read_steps
from agent.explorer.distiller import DISTILLER, MOST_RULES, Proposals
from agent.explorer.filtering import KeptRule, filter_rules
from agent.explorer.judges import LearningModel, ModelJudge, run_jobs
from agent.explorer.ledger import Ledger
from agent.explorer.plan import Exploration, ExplorationFolder, refuse_evaluation_split
from agent.explorer.report import Acceptance, FailedCall, FoundRule, PlayTotals, Report
from agent.models.registry import make_model
from agent.roles.base import load_prompt
from knowledge.library import library
from knowledge.mining import mine
from knowledge.moments import Moment
from knowledge.rulebook import Rulebook, save
from knowledge.rules import Origin, Rule
from worlds.errors import ConfigurationError, KnowledgeError


@dataclass(frozen=True, slots=True)
class ExploreTarget:
    """The book for the rules, who accepts them, and other runs to take evidence from.

    These may change between two commands on the same exploration.
    """

    into: str
    accept: Acceptance = "person"
    besides: tuple[Path, ...] = ()

    @property
    def names(self) -> tuple[str, ...]:
        """The names of the other runs."""
        return tuple(slug(path.resolve().name) for path in self.besides)

    def is_that_of(self, report: Report) -> bool:
        """Whether ``report`` is for this target."""
        return (report.into, report.accept, report.besides) == (self.into, self.accept, self.names)


@dataclass(frozen=True, slots=True)
class ExploreCallbacks:
    """Callbacks for progress: ``watcher`` after every chunk, ``say`` with messages for a person."""

    watcher: Watcher | None = None
    say: Callable[[str], None] | None = None


async def explore(
    exploration: Exploration,
    folder: Path,
    target: ExploreTarget,
    options: RunOptions,
    budget: BudgetTracker,
    callbacks: ExploreCallbacks | None = None,
) -> Report:
    """Play, learn and write the book, or resume this in ``folder``.

    Raises what ``run_batch`` raises, ``ConfigurationError`` if the folder holds another exploration, and ``KnowledgeError`` if
    the book cannot be read or saved.
    """
    if target.accept == "filter" and exploration.model is None:
        way_out = "name one with --distiller, or give --accept evidence"
        raise ConfigurationError(f"--accept filter: there is no model that could filter; {way_out}.")
    for run in target.besides:
        refuse_evaluation_split(RunFolder(run).manifest().configuration.split, "--evidence")
    # Refuse an unreadable book before playing.
    library().writable(target.into, exploration.run.config.world)
    place = ExplorationFolder(folder)
    place.begin(exploration)
    before = place.report()
    if before is not None and target.is_that_of(before) and not before.left(retry_errors=options.retry_errors):
        return before
    summary = await run_batch(exploration.run, folder, options, budget)
    with place.run.locked():
        learning = _Learning(exploration, place, target, options, budget, callbacks or ExploreCallbacks())
        report = await learning.report(summary)
        place.conclude(report)
    return report


class _Learning:
    """Learns from a finished run."""

    def __init__(
        self,
        exploration: Exploration,
        place: ExplorationFolder,
        target: ExploreTarget,
        options: RunOptions,
        budget: BudgetTracker,
        callbacks: ExploreCallbacks,
    ) -> None:
        self._exploration = exploration
        self._place = place
        self._target = target
        self._options = options
        self._budget = budget
        self._callbacks = callbacks
        self._world = exploration.run.config.world
        self._name = slug(place.path.resolve().name)
        self._episodes = list(read_steps(place.path))

    async def report(self, summary: Summary) -> Report:
        """Learn, write the book and report."""
        played = PlayTotals(
            episodes=summary.overall.finished,
            won=summary.overall.won,
            errors=summary.overall.errors,
            steps=sum(len(each.steps) for each in self._episodes),
            curious=sum(each.curious for each in self._episodes),
        )
        if self._exploration.model is None:
            return await self._counted(played)
        model = make_model(self._exploration.model, timeout=self._exploration.run.setup.timeout)
        try:
            ledger = Ledger(self._place.calls_file)
            self._budget.add(ledger.used(self._exploration.prices))
            asker = LearningModel(
                model=MeteredModel(model, self._budget, self._exploration.prices),
                name=self._exploration.learning.distiller or "",
                ledger=ledger,
                budget=self._budget,
                workers=self._options.workers,
                seed=self._exploration.run.config.seed,
                longest=self._exploration.learning.reply_tokens,
            )
            return await self._distilled(played, asker)
        finally:
            await model.aclose()

    async def _counted(self, played: PlayTotals) -> Report:
        """Learn by counting, without a model."""
        origin = Origin("run", self._name)
        mined = mine(recorded_moments([self._place.path])).rules(self._name)
        proposed = [CandidateRule(rule, rule.evidence.witnesses) for rule in mined]
        sifted = await filter_rules(proposed, self._others(origin), self._moments(), None)
        return Report(
            accept=self._target.accept,
            into=self._target.into,
            besides=self._target.names,
            distiller=None,
            played=played,
            chunks=0,
            proposed=len(proposed),
            found=self._written(sifted.kept, origin),
            dropped=sifted.dropped,
        )

    async def _distilled(self, played: PlayTotals, asker: LearningModel) -> Report:
        parts = list(chunks(self._episodes, self._exploration.size))
        origin = Origin("model", f"{asker.name[:140]} over {self._name}")
        gathered = await self._gathered(parts, asker, origin)
        judges = ModelJudge(asker, {step.origin: step for part in parts for step in part.steps}, self._callbacks.say)
        sifted = await filter_rules(gathered.candidates, self._others(origin), self._moments(), judges)
        used = asker.ledger.used()
        return Report(
            accept=self._target.accept,
            into=self._target.into,
            besides=self._target.names,
            distiller=asker.name,
            played=played,
            chunks=len(parts),
            proposed=gathered.number,
            found=self._written(sifted.kept, origin),
            dropped=(*gathered.dropped, *sifted.dropped),
            checks=tuple(gathered.checks),
            lost=tuple(asker.lost),
            calls=used.calls,
            tokens=used.tokens.prompt + used.tokens.completion,
        )

    async def _gathered(self, parts: Sequence[Chunk], asker: LearningModel, origin: Origin) -> Candidates:
        """The distiller's proposals for all chunks."""
        prompt = load_prompt("agent.explorer", "distiller")
        world = self._exploration.run.setup.world
        system = prompt.render("system", manual=world.manual, most=str(MOST_RULES))

        async def read(part: Chunk) -> Proposals | FailedCall:
            text = prompt.render("chunk", chunk=part.text)
            return await asker.ask(DISTILLER, system, text, f"chunk {part.number}")

        if self._callbacks.say is not None:
            self._callbacks.say(f"Distilling rules from {len(parts):,} chunk{'s' * (len(parts) != 1)} with {asker.name}.")
        self._tell(0, len(parts))
        jobs = [partial(read, part) for part in parts]
        answers = await run_jobs(jobs, asker.workers, self._budget, lambda done: self._tell(done, len(parts)))
        gathered = Candidates()
        for part, answer in zip(parts, answers, strict=True):
            if isinstance(answer, FailedCall):
                asker.lost.append(answer)
            else:
                gathered.add(part, answer, origin)
        return gathered

    def _tell(self, done: int, total: int) -> None:
        if self._callbacks.watcher is not None:
            cost = self._budget.used.money
            self._callbacks.watcher(
                RunProgress(done, total, won=None, errors=0, resumed=0, active=self._budget.calling, cost=cost)
            )

    def _moments(self) -> Iterator[Moment]:
        """The recorded commands that rules are checked against."""
        return recorded_moments([self._place.path, *self._target.besides], self._left_out, world=self._world)

    def _left_out(self, error: ConfigurationError) -> None:
        if self._callbacks.say is not None:
            self._callbacks.say(f"Left out: {error}")

    def _others(self, origin: Origin) -> tuple[Rule, ...]:
        return rules_from_elsewhere(library().writable(self._target.into, self._world), origin)

    def _written(self, kept: Sequence[KeptRule], origin: Origin) -> tuple[FoundRule, ...]:
        """Write the kept rules, and return them as they are in the book."""
        rules = [judged(each, self._target.accept) for each in kept]
        book = write(self._target.into, rules, origin, self._world)
        stands = {rule.id: rule for rule in book.rules}
        return tuple(FoundRule.of(stands[each.rule.id], _note(each, stands[each.rule.id])) for each in kept)


def _note(kept: KeptRule, rule: Rule) -> str:
    if kept.disputes:
        return f"excludes {' and '.join(kept.disputes)}; a person has to decide"
    if rule.standing == "contradicted" and rule.status != "rejected":
        return "the records contradict it"
    return ""


ATTEMPTS = 3
"""How often saving is tried when somebody else saves the same book."""


def judged(kept: KeptRule, accept: Acceptance) -> Rule:
    """The rule with its status; a disputed rule always stays a candidate.

    ``person``: all are candidates. ``filter``: all that the model's filter kept are accepted (OPEx-L). ``evidence``: supported
    rules are accepted, contradicted ones rejected.
    """
    rule = kept.rule
    if kept.disputes or accept == "person":
        return rule
    if accept == "filter":
        return rule.judged("accepted", "filter")
    match rule.standing:
        case "supported":
            return rule.judged("accepted", "evidence")
        case "contradicted":
            return rule.judged("rejected", "evidence")
        case "undecided":
            return rule


def rules_from_elsewhere(book: Rulebook, origin: Origin) -> tuple[Rule, ...]:
    """The rules of ``book`` with another origin than ``origin``."""
    return tuple(rule for rule in book.rules if rule.origin != origin)


def write(into: str, rules: Sequence[Rule], origin: Origin, world: str) -> Rulebook:
    """Add ``rules``, which come from ``origin``, to the book ``into``, and return the saved book.

    Rules that this exploration wrote before are judged again if they are still unchanged candidates, and otherwise left alone.
    Raises ``KnowledgeError`` if the book cannot be saved.
    """
    for attempt in range(1, ATTEMPTS + 1):
        book = library().writable(into, world)
        present = {rule.id: rule for rule in book.rules}
        changed = [_again(present[rule.id], rule, origin) if rule.id in present else rule for rule in rules]
        after = book.put(changed)
        if after is book:
            return book
        try:
            return save(after)
        except KnowledgeError:
            if attempt == ATTEMPTS:
                raise
    raise AssertionError("an attempt returns or raises")


def _again(present: Rule, rule: Rule, origin: Origin) -> Rule:
    """The rule to keep when the book already has it as ``present``."""
    as_written = replace(rule, status=present.status, by=present.by, evidence=present.evidence, history=present.history)
    untouched = present.origin == origin and present.status == "candidate" and present == as_written
    return rule if untouched else present
