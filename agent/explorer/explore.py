"""Runs an exploration: play, distil, filter, check, and write a rulebook (OPEx, section 3).

Episodes and learning calls, with prompts and replies, are saved before they are used. Everything else is computed from them, so
resuming after a kill repeats no call and makes the same book.
"""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from functools import cached_property
from pathlib import Path

from housequest.agent.episodes.moments import recorded_moments
from housequest.agent.evaluation.analysis.metrics import Summary
from housequest.agent.evaluation.runs.batch import RunOptions, RunProgress, Watcher, run_batch, stopped_when_full, unheard
from housequest.agent.evaluation.runs.budget import BudgetTracker, Ledger, MeteredModel
from housequest.agent.evaluation.runs.files import file_of
from housequest.agent.evaluation.runs.folder import RunFolder
from housequest.agent.evaluation.runs.spec import slug
from housequest.agent.evaluation.runs.usage import Spending
from housequest.agent.explorer import distiller, plan
from housequest.agent.explorer.filtering import LearningModel, ModelJudge, filter_rules
from housequest.agent.explorer.groups import GroupDistiller, read_distiller
from housequest.agent.models.registry import make_model
from housequest.agent.roles.base import load_prompt
from housequest.agent.skills.contrary import Kinds, held_by_person, retire, retired_for
from housequest.knowledge.mining import mine, scope_of
from housequest.knowledge.rulebook import Rulebook, is_counted, library, save, sealed, unsealed
from housequest.knowledge.rules import Origin, Rule
from housequest.worlds.errors import ConfigurationError, KnowledgeError, ModelError
from housequest.worlds.household.base import Household
from housequest.worlds.paths import atomic_write
from housequest.worlds.tasks import as_splits

LEAST_REPLY = 512  # Tokens that a chunk leaves for a reply, enough for a few rules.
ASKED_AGAIN = 300  # Tokens that asking again adds to a prompt: the start of a reply, and its problem.
LEAST_CHUNK = 200  # The smallest chunk in tokens: the size of a house's introduction.


@dataclass(frozen=True, slots=True)
class ExploreTarget:
    """The book for the rules, their acceptance, and other runs for evidence. These may change between two commands on the same
    exploration."""

    into: str
    accept: plan.Acceptance = "person"
    besides: tuple[Path, ...] = ()

    @property
    def names(self) -> tuple[str, ...]:
        return tuple(slug(path.resolve().name) for path in self.besides)


async def explore(
    exploration: plan.Exploration,
    folder: Path,
    target: ExploreTarget,
    options: RunOptions,
    budget: BudgetTracker,
    watcher: Watcher = unheard,
) -> plan.ExplorationReport:
    """Play, learn and write the book, or resume this in ``folder``; ``watcher`` is called after every chunk.

    Raises:
        ConfigurationError: The folder holds another exploration, or ``run_batch`` raises it.
        KnowledgeError: The book cannot be read or saved.
        Stopped: ``run_batch`` or the learning ended early."""
    if target.accept == "filter" and exploration.model is None:
        way_out = "name one with --distiller, or give --accept evidence"
        raise ConfigurationError(f"--accept filter: there is no model that could filter; {way_out}.")
    for run in target.besides:
        manifest = RunFolder(run).manifest()
        plan.refuse_evaluation(manifest.configuration.split, manifest.tasks, "--evidence")
    # Refuse an unreadable book before playing.
    book = library().writable(target.into, exploration.run.config.world)
    place = plan.ExplorationFolder(folder)
    place.begin_exploration(exploration)
    before = place.report()
    same = before is not None and (before.into, before.accept, before.besides) == (target.into, target.accept, target.names)
    if before is not None and same and book.read and not before.left(retry_errors=options.retry_errors):
        return before
    summary = await run_batch(exploration.run, folder, options, budget)
    with stopped_when_full(folder), place.locked():
        report = await _Learning(exploration, place, target, options, budget, watcher).report(summary)
        atomic_write(place.report_file, file_of(report))
    return report


@dataclass
class _Learning:
    exploration: plan.Exploration
    place: plan.ExplorationFolder
    target: ExploreTarget
    options: RunOptions
    budget: BudgetTracker
    watcher: Watcher

    async def report(self, summary: Summary) -> plan.ExplorationReport:
        episodes = list(distiller.read_steps(self.place.path))
        run = slug(self.place.path.resolve().name)
        tasks, world = self.exploration.run.selection.tasks, self.exploration.run.setup.world
        played = as_splits(((task.split, task.number) for task in tasks), world.info.endless_splits)
        asker = None if self.exploration.model is None else self._asker(self.exploration.model)
        try:
            if asker is None:
                parts, judges = list[distiller.Chunk](), None
                scope = scope_of((task.split for task in tasks), world.info.homes)
                mined = mine(recorded_moments([self.place.path]), self._household.commands, scope=scope)
                if (network := self.exploration.network) is not None:
                    origin = Origin("model", f"{plan.GROUPS} over {run}", played)
                    rules = list(GroupDistiller(read_distiller(network), self._household.counts()).rules(mined, origin))
                else:
                    origin = Origin("run", run, played)
                    rules = list(map(sealed, mined.rules(run, played)))
                gathered = distiller.Candidates([distiller.CandidateRule(rule, rule.evidence.witnesses) for rule in rules])
            else:
                origin = Origin("model", f"{asker.name[:140]} over {run}", played)
                parts = await self._chunks(episodes, asker)
                judges = ModelJudge(asker, {step.origin: step for part in parts for step in part.steps}, self.options.say)
                gathered = await self._distilled(parts, asker, origin)
            # Filter together with the book's other rules, by the evidence of all runs.
            world, folders = self.exploration.run.config.world, [self.place.path, *self.target.besides]
            book = library().writable(self.target.into, world)
            moments = recorded_moments(folders, lambda error: self.options.say(f"Left out: {error}"), world=world)
            others = [rule for rule in book.rules if unsealed(rule.origin) != origin]
            filtered = await filter_rules(gathered.kept, others, moments, judges, self._kinds)
        finally:
            if asker:
                await asker.model.aclose()
        rules = [judged(each, self.target.accept) for each in filtered.kept]
        book = add_to_book(self.target.into, rules, origin, world, self._kinds)
        ours = {each.rule.id: book.rule(each.rule.id) for each in filtered.kept}
        used = asker.ledger.used() if asker else Spending()
        return plan.ExplorationReport(
            accept=self.target.accept,
            into=self.target.into,
            besides=self.target.names,
            distiller=self.exploration.learning.distiller,
            played=plan.PlayTotals(
                episodes=summary.overall.finished,
                won=summary.overall.won,
                errors=summary.overall.errors,
                steps=sum(len(each.steps) for each in episodes),
                curious=sum(each.curious for each in episodes),
            ),
            chunks=len(parts),
            proposed=len(gathered.kept) + len(gathered.dropped),
            found=tuple(plan.FoundRule.of(ours[each.rule.id], each.disputes) for each in filtered.kept),
            dropped=(*gathered.dropped, *filtered.dropped),
            retired=tuple(
                plan.RetiredRule.of(rule, winner)
                for rule in book.rules
                if rule.id not in ours and (winner := retired_for(rule, ours)) is not None
            ),
            checks=tuple(gathered.checks),
            lost=tuple(asker.lost) if asker else (),
            calls=used.calls,
            tokens=used.tokens.prompt + used.tokens.completion,
        )

    async def _chunks(self, episodes: Sequence[distiller.EpisodeSteps], asker: LearningModel) -> list[distiller.Chunk]:
        """The chunks, small enough for a reply to each to fit into the model's context, if its size is known. This limits the
        replies of ``asker`` to the rest of the context."""
        learning = self.exploration.learning
        sizes = self.place.sizes()
        # Calls already answered without a file of sizes are not made again in another size.
        if sizes is None and not asker.ledger.calls:
            sizes = await self._fitting(episodes, asker)
            if sizes is not None:
                atomic_write(self.place.sizes_file, file_of(sizes))
        tokens = learning.chunk_tokens
        if sizes is not None:
            tokens, asker.longest = sizes.chunk_tokens, sizes.reply_tokens
        if tokens < learning.chunk_tokens or asker.longest < learning.reply_tokens:
            fits = f"Chunks have about {tokens:,} tokens and replies at most {asker.longest:,}"
            self.options.say(f"{fits}: no more fits into the model's context.")
        return list(distiller.chunks(episodes, learning.chunk_steps, tokens))

    async def _fitting(self, episodes: Sequence[distiller.EpisodeSteps], asker: LearningModel) -> plan.LearningSizes | None:
        """The largest sizes that fit into the model's context; None without chunks or for an unknown context."""
        learning, prompt = self.exploration.learning, load_prompt("housequest.agent.explorer", "distiller")
        tokens, wanted = learning.chunk_tokens, min(learning.reply_tokens, LEAST_REPLY)
        while True:
            parts = sorted(distiller.chunks(episodes, learning.chunk_steps, tokens), key=lambda part: len(part.text))
            left: list[int] = []
            for part in parts[-3:]:
                tokens_left = None
                with suppress(ModelError):  # the first call will report the problem
                    tokens_left = await asker.context_left(
                        distiller.DISTILLER, self._instructions(), prompt.render("chunk", chunk=part.text)
                    )
                if tokens_left is None:
                    return None
                left.append(tokens_left - ASKED_AGAIN)
            if not left:
                return None
            if min(left) >= wanted or tokens <= LEAST_CHUNK:
                reply = min(learning.reply_tokens, max(min(left), wanted))
                return plan.LearningSizes(chunk_tokens=tokens, reply_tokens=reply)
            tokens = tokens * 3 // 4

    def _instructions(self) -> str:
        world = self.exploration.run.setup.world
        prompt = load_prompt("housequest.agent.explorer", "distiller")
        return prompt.render(
            "system",
            manual=world.info.manual,
            most=str(distiller.MOST_RULES),
            checks="\n".join(self._household.commands.checks),
        )

    def _asker(self, name: str) -> LearningModel:
        ledger = Ledger(self.place.calls_file)
        self.budget.used += ledger.used(self.exploration.prices)
        model = make_model(name, timeout=self.exploration.run.setup.configured.timeout)
        return LearningModel(
            model=MeteredModel(model, self.budget, self.exploration.prices),
            name=self.exploration.learning.distiller or "",
            ledger=ledger,
            budget=self.budget,
            concurrency=self.options.concurrency,
            seed=self.exploration.run.config.seed,
            longest=self.exploration.learning.reply_tokens,
        )

    @property
    def _household(self) -> Household:
        household = self.exploration.run.setup.world.household
        assert household is not None  # `plan_exploration` checks this
        return household

    @cached_property
    def _kinds(self) -> Kinds:
        return Kinds.of(self._household.counts())

    async def _distilled(self, parts: Sequence[distiller.Chunk], asker: LearningModel, origin: Origin) -> distiller.Candidates:
        prompt = load_prompt("housequest.agent.explorer", "distiller")
        system = self._instructions()
        self.options.say(f"Distilling rules from {len(parts):,} chunk{'s' * (len(parts) != 1)} with {asker.name}.")

        def watch(done: int) -> None:
            active, cost = self.budget.active, self.budget.used.money
            self.watcher(RunProgress(done, len(parts), won=None, errors=0, resumed=0, active=active, cost=cost))

        watch(0)
        questions = {f"chunk {part.number}": prompt.render("chunk", chunk=part.text) for part in parts}
        role = distiller.DISTILLER.held_to(distiller.distilling_form(max((len(part.steps) for part in parts), default=1)))
        gathered = distiller.Candidates()
        for part, proposals in zip(parts, await asker.ask(role, system, questions, watch), strict=True):
            if proposals is not None:
                gathered.add(part, proposals, origin)
        return gathered


def judged(kept: distiller.CandidateRule, accept: plan.Acceptance) -> Rule:
    """The rule with its status; a disputed rule stays a candidate. With ``person``, all rules are candidates. With ``filter``,
    all that the model's filter kept are accepted (OPEx-L). With ``evidence``, supported rules are accepted, and contradicted
    ones rejected."""
    rule = kept.rule
    if kept.disputes or accept == "person":
        return rule
    if accept == "filter":
        return rule.judged("accepted", "filter")
    if rule.standing == "undecided":
        return rule
    return rule.judged("accepted" if rule.standing == "supported" else "rejected", "evidence")


def add_to_book(into: str, rules: Sequence[Rule], origin: Origin, world: str, kinds: Kinds, attempts: int = 3) -> Rulebook:
    """Add ``rules`` from ``origin`` to the book ``into``, retire what they exclude (`retire`), and save it.

    A rule that this exploration wrote before gets its new evidence, and is judged again if it is a candidate, or by evidence. A
    counted rule takes the place of another with its id. What a person changed or judged is left alone. Saving is retried if
    somebody else saves the same book, and a new book is saved even if it stays empty. Raises ``KnowledgeError`` if it cannot be
    saved."""
    book = library().writable(into, world)
    present = {rule.id: rule for rule in book.rules}

    def kept(rule: Rule) -> Rule:
        before = present.get(rule.id, rule)
        rule = rule.following(before)
        if unsealed(before.origin) != origin:
            if not is_counted(before):
                return before
            judged_now = rule.status != "candidate"
            return rule if judged_now else replace(rule, status=before.status, by=before.by, history=before.history)
        as_written = replace(rule, status=before.status, by=before.by, evidence=before.evidence, history=before.history)
        if before != as_written or held_by_person(before):
            return before
        judged_anew = before.status == "candidate" or before.by == rule.by == "evidence"
        return rule if judged_anew else replace(before, evidence=rule.evidence)

    after = book.put(list(map(kept, rules)))
    after = after.put(retire(after.rules, kinds))
    try:
        return book if after is book and book.read else save(after)
    except KnowledgeError:
        if attempts == 1:
            raise
        return add_to_book(into, rules, origin, world, kinds, attempts - 1)
