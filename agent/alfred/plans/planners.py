"""Planners that write ALFRED's plans, and their examples: one copies the most similar plan, others prompt a language model."""

from __future__ import annotations

from collections import Counter
from collections.abc import Awaitable, Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from itertools import groupby
from typing import Any, ClassVar, Literal, NamedTuple

from pydantic import ConfigDict

from housequest.agent.episodes import events
from housequest.agent.models.base import Message, Model, Timing
from housequest.agent.models.embeddings import Embedder, EmbeddingIndex
from housequest.agent.roles.base import Answer, ReplyError, Role, Sampling, ask, load_prompt
from housequest.knowledge.choosing import Bm25, at_random, best, stratified
from housequest.worlds.alfred import model as alfred
from housequest.worlds.alfred.tasks import Demonstration, Instruction
from housequest.worlds.alfworld.text import load_counts
from housequest.worlds.options import Scalar, option

Choice = Literal["bm25", "random", "stratified", "embeddings"]
"""The ways to choose examples: by similarity of words or embeddings, or at random from all or evenly from each task type."""


@dataclass(frozen=True, slots=True)
class PlanTask:
    """One instruction of a demonstration: to plan for, or an example with its annotated plan."""

    demonstration: Demonstration
    instruction: Instruction

    @property
    def id(self) -> str:
        return f"{self.demonstration.id}#{self.instruction.annotator}"

    @property
    def type(self) -> str:
        return self.demonstration.type

    @property
    def goal(self) -> str:
        return self.instruction.goal


def plan_tasks(demonstrations: Iterable[Demonstration]) -> tuple[PlanTask, ...]:
    return tuple(PlanTask(one, instruction) for one in demonstrations for instruction in one.instructions)


def drawn(examples: Sequence[PlanTask], most: int | None, seed: int) -> tuple[PlanTask, ...]:
    """``most`` of ``examples``, stratified by task type (LLM-Planner, section 5.3); all of them for None."""
    return tuple(examples) if most is None else stratified(examples, most, str(seed))


class ExamplePool:
    """Examples to choose from, indexed once by their goals or (``stepwise``) with the step instructions. Similarity is by the
    ``embedder``'s vectors, if there is one, or by BM25."""

    def __init__(self, examples: Sequence[PlanTask], *, stepwise: bool = False, embedder: Embedder | None = None) -> None:
        self.examples = tuple(examples)
        told = [example.instruction.text(stepwise=stepwise) for example in examples]
        self._words = Bm25.over(told)
        self._vectors = EmbeddingIndex(told, embedder) if embedder else None
        self._origins = Counter(example.demonstration.id for example in examples)

    async def nearest(self, text: str, most: int, *, without: str) -> tuple[PlanTask, ...]:
        """The ``most`` examples nearest to ``text``, best first, ``without`` those of one demonstration. Raises
        ``ModelError``."""
        scores = await self._vectors.likeness(text) if self._vectors else self._words.scores(text)
        found = best(self.examples, scores, most + self._origins[without])
        return tuple(example for example in found if example.demonstration.id != without)[:most]

    async def choose(self, choice: Choice, text: str, most: int, seed: int, *, without: str) -> tuple[PlanTask, ...]:
        """Choose ``most`` examples for ``text`` in the order of a prompt: the most similar one last, next to the question."""
        if choice in ("bm25", "embeddings"):
            return (await self.nearest(text, most, without=without))[::-1]
        others = [example for example in self.examples if example.demonstration.id != without]
        return (at_random if choice == "random" else stratified)(others, most, f"{seed} {text}")


PACKAGE = "housequest.agent.alfred.plans"


@dataclass(frozen=True)
class PlannerSettings:
    """The settings of all planners; `PLANNERS` says which planner takes which, and its defaults.

    ``pool`` examples are drawn from ``train`` (None: all of it); ``steps`` adds the step-by-step instructions; ``shots`` of the
    pool are shown, chosen by ``choose``. ``bias``, in nats, favours actions and the objects in the room, for models with a
    bias (LLM-Planner, section 5.3: 0.1). ``replanning`` executes the plan on the symbolic model, and asks again, at most
    ``revisions`` times, when a subgoal is refused; ``feedback`` then tells the held object and the failed subgoal, unlike the
    paper. ``decompose`` is the Socratic Planner's way to analyse an instruction."""

    # Refuse a manifest with unknown settings.
    __pydantic_config__: ClassVar[ConfigDict] = ConfigDict(extra="forbid")

    pool: int | None = option(100, least=1)
    steps: bool = option(False)
    shots: int = option(9, most=50)
    choose: Choice = option("bm25")
    max_tokens: int = option(512, least=1, most=100_000)
    temperature: float = option(0.0, most=10)
    embedder: str = option("")
    bias: float = option(0.0, most=100)
    replanning: bool = option(False)
    revisions: int = option(10)
    feedback: bool = option(False)
    decompose: Literal["questions", "chain-of-thought", "none"] = option("questions")


def _read(text: str) -> alfred.Plan:
    try:
        return alfred.read_plan(text)
    except alfred.PlanError as error:
        raise ReplyError(f"{error} Write one step a line, as in 'PutObject apple fridge'.") from error


ALFRED_PLAN: Role[alfred.Plan] = Role("alfred_plan", _read, stop=("\nTask:",))
"""Writes a whole ALFRED plan for an instruction (LLM-Planner, section 4.2, static setting)."""


@dataclass(frozen=True, slots=True)
class PlanProposal:
    """A planner's answer: a plan, or the ``reason`` why there is none, with the model calls. ``executed`` has the steps of this
    plan and of ``revisions`` later ones that the symbolic model executed; None for planners that are not asked again."""

    plan: alfred.Plan | None
    reason: str = ""
    calls: Sequence[events.ModelCall] = ()
    executed: alfred.Plan | None = None
    revisions: int = 0


@dataclass(frozen=True, slots=True)
class Planner:
    """The parts of a planner: the ``pool`` of examples, its settings, and its model if it asks one. Safe to use
    concurrently."""

    pool: ExamplePool
    settings: PlannerSettings
    seed: int
    model: Model | None = None

    async def ask(
        self, role: Role[Any], system: str, question: str, calls: list[events.ModelCall], bias: Sequence[tuple[str, float]] = ()
    ) -> Answer[Any]:
        """Ask one question in a new conversation, and add its calls to ``calls``. Raises ``ModelError``."""

        def listen(body: object, timing: Timing | None = None) -> None:
            del timing  # timings are not part of a result
            if isinstance(body, events.ModelCall):
                calls.append(body)

        assert self.model is not None
        sampling = Sampling(self.settings.max_tokens, self.settings.temperature, self.seed, tuple(bias))
        return await ask(role, self.model, (Message("system", system),), question, listen, sampling)

    async def shots(self, task: PlanTask) -> tuple[PlanTask, ...]:
        own, text = self.settings, task.instruction.text(stepwise=self.settings.steps)
        return await self.pool.choose(own.choose, text, own.shots, self.seed, without=task.demonstration.id)


async def _copied(planner: Planner, task: PlanTask) -> PlanProposal:
    """Copy the plan of the most similar example, without a model: the baseline that a model has to beat."""
    text = task.instruction.text(stepwise=planner.settings.steps)
    found = await planner.pool.nearest(text, 1, without=task.demonstration.id)
    return PlanProposal(found[0].demonstration.plan) if found else PlanProposal(None, "There is no example to copy.")


async def _in_context(planner: Planner, task: PlanTask) -> PlanProposal:
    """Prompt a language model with examples (LLM-Planner, sections 4.2 and 4.3), and again when its plan fails (4.4).

    One call per instruction, a second if the reply cannot be parsed, and one for each revision. With replanning, the symbolic
    model is the low-level controller: when it refuses a subgoal, the model is told the completed subgoals and the objects
    seen."""
    own, scene = planner.settings, task.demonstration.scene
    biased = own.bias and planner.model is not None and (await planner.model.capabilities()).bias
    held = {thing.kind for thing in scene.things} | scene.receptacles
    # Names follow a space, which is part of the token in many vocabularies.
    favoured = (*alfred.ARGUMENTS, *(f" {name}" for name in sorted(held)))
    bias = tuple((text, own.bias) for text in favoured) if biased else ()
    calls, shots = list[events.ModelCall](), await planner.shots(task)
    answer = await planner.ask(ALFRED_PLAN, instructions(), question(own, shots, task.instruction), calls, bias)
    first: alfred.Plan | None = answer.value
    if first is None or not own.replanning:
        return PlanProposal(first, answer.reason, calls)
    plan, told, revisions = first, frozenset[str](), 0
    while (outcome := alfred.execute(plan, scene)).refusal is not None:
        # Going to the same place again is no progress.
        done = tuple(step for step, _ in groupby(plan[: outcome.refusal.step - 1]))
        again = question(own, shots, task.instruction, _grounding(done, outcome, scene, feedback=own.feedback))
        plan = done
        if revisions >= own.revisions or (again in told and not own.temperature):
            break
        told, revisions = told | {again}, revisions + 1
        answer = await planner.ask(ALFRED_PLAN, instructions(), again, calls, bias)
        plan = done + (answer.value or ())
    return PlanProposal(first, "", calls, plan, revisions)


async def _socratic(planner: Planner, task: PlanTask) -> PlanProposal:
    """Let a model analyse the instruction and then plan (Socratic Planner, sections 3.3 and 3.4). Two calls per instruction,
    or one with ``decompose=none``, and one more for each reply that cannot be read. The decomposer's prompts are the agent's,
    and the planning prompt is that of the other planners."""
    from housequest.agent.agents.socratic.agent import DECOMPOSER, QUESTIONER, dialogue_text
    from housequest.agent.agents.socratic.agent import PACKAGE as SOCRATIC

    own, calls, found = planner.settings, list[events.ModelCall](), ""
    if own.decompose != "none":
        questions = own.decompose == "questions"
        prompt = load_prompt(SOCRATIC, f"socratic_{'questioner' if questions else 'decomposer'}")
        household = load_prompt(SOCRATIC, "socratic")
        system = prompt.render("system", rules=household.render("rules"), subtask=household.render("subtask"))
        told = prompt.render("task", goal=task.instruction.text(stepwise=own.steps))
        answer = await planner.ask(QUESTIONER if questions else DECOMPOSER, system, told, calls)
        if answer.value is None:
            return PlanProposal(None, answer.reason, calls)
        words = dialogue_text(answer.value) if questions else answer.value
        found = load_prompt(PACKAGE, "alfred_found").render("dialogue" if questions else "reasoning", words=words)
    asked = question(own, await planner.shots(task), task.instruction, found)
    answer = await planner.ask(ALFRED_PLAN, instructions(), asked, calls)
    return PlanProposal(answer.value, answer.reason, calls)


async def _by_skills(planner: Planner, task: PlanTask) -> PlanProposal:
    """Ask for the whole list of skills at once, with examples in the same words; one call, or two if it cannot be read."""
    from housequest.agent.alfred.plans.lota import LOTA, SKILL_LIST, list_instructions, skills_of

    stepwise, prompt, calls = planner.settings.steps, load_prompt(LOTA, "selector"), list[events.ModelCall]()
    shown = [
        prompt.render("example", goal=one.instruction.text(stepwise=stepwise), skills=skills_of(one.demonstration.plan))
        for one in await planner.shots(task)
    ]
    goal = prompt.render("opening", goal=task.instruction.text(stepwise=stepwise))
    asked = "\n".join((*shown, goal, prompt.render("first")))
    answer = await planner.ask(SKILL_LIST, list_instructions(), asked, calls)
    return PlanProposal(answer.value, answer.reason, calls)


def question(settings: PlannerSettings, shots: Sequence[PlanTask], instruction: Instruction, known: str = "") -> str:
    """The prompt: examples with their plans, the instruction, and text on what is ``known``."""
    prompt = load_prompt(PACKAGE, "alfred_plan")

    def told(one: Instruction) -> str:
        if not settings.steps:
            return prompt.render("task", goal=one.goal)
        return prompt.render("instructions", goal=one.goal, steps=" ".join(one.steps))

    plans = [prompt.render("plan", plan="\n".join(map(str, one.demonstration.plan))) for one in shots]
    shown = [f"{told(one.instruction)}\n{plan}" for one, plan in zip(shots, plans, strict=True)]
    return "\n\n".join([*shown, "\n".join(filter(None, (told(instruction), known, prompt.render("ask"))))])


def _grounding(done: alfred.Plan, outcome: alfred.Execution, scene: alfred.SymbolicScene, *, feedback: bool) -> str:
    """The grounding of a replanning prompt: completed subgoals and objects seen; with ``feedback``, the held object and the
    failed subgoal."""
    been = {step.thing for step in done if step.action == "GotoLocation"}
    seen = {thing.kind for thing in scene.things if thing.place in been} | scene.receptacles
    told = load_prompt(PACKAGE, "alfred_grounding")
    lines = [told.render("seen", completed="; ".join(map(str, done)) or "nothing yet", objects=", ".join(sorted(seen)))]
    if feedback and (held := outcome.states[0].in_hand) is not None:
        lines.append(told.render("holding", words=held.kind))
    if feedback and (refusal := outcome.refusal) is not None:
        lines.append(told.render("failed", words=f"{refusal.subgoal} ({_NOT_FOUND.get(refusal.cause, refusal.cause)})"))
    return "\n".join([*lines, told.render("ask")])


_NOT_FOUND: dict[alfred.Cause, str] = {"not here": "not found", "not in this room": "not found"}
"""A robot that does not find an object cannot know whether the room has one."""


@cache
def instructions() -> str:
    """The system message: the actions, the robot's abilities, and the names of objects and places."""
    kinds = [kind for kind in load_counts().can if alfred.able(kind, "pickupable") or alfred.able(kind, "toggleable")]
    return load_prompt(PACKAGE, "alfred_plan").render(
        "system", objects=", ".join(sorted(kinds)), places=", ".join(sorted(alfred.receptacles_of(None)))
    )


class PlannerSort(NamedTuple):
    """A planner by name. ``plan`` writes a plan for a task's instruction, without examples of its own demonstration, and raises
    ``ModelError``. ``defaults`` are its own defaults, and ``takes`` the settings that not every planner has. A planner that
    ``has_agent`` uses the prompts of the agent of the same name, an optional part."""

    plan: Callable[[Planner, PlanTask], Awaitable[PlanProposal]]
    defaults: Mapping[str, Scalar] = {}
    takes: frozenset[str] = frozenset()
    needs_model: bool = True
    has_agent: bool = False


_EXAMPLES = frozenset({"embedder"})
_PROMPTED = _EXAMPLES | {"bias", "replanning", "revisions", "feedback"}
PLANNERS: dict[str, PlannerSort] = {
    "nearest": PlannerSort(_copied, takes=_EXAMPLES, needs_model=False),
    "in-context": PlannerSort(_in_context, takes=_PROMPTED),
    "llm-planner": PlannerSort(_in_context, {"bias": 0.1, "replanning": True}, _PROMPTED),
    "socratic": PlannerSort(_socratic, {"shots": 0, "max_tokens": 1024}, _EXAMPLES | {"decompose"}, has_agent=True),
    "lota": PlannerSort(_by_skills, {"shots": 18, "choose": "stratified"}, _EXAMPLES, has_agent=True),
}
"""The planners by name. ``llm-planner`` is ``in-context`` with its paper's bias and re-planning."""
