"""From a base model and lessons to an adapter, in a folder from which an interrupted run goes on."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, field, replace
from functools import cache
from hashlib import sha256
from itertools import chain
from pathlib import Path
from typing import Any

from housequest.agent.episodes.moments import digest
from housequest.agent.evaluation.runs.spec import installed_version
from housequest.agent.processes import Pool
from housequest.agent.roles.brief import is_brief_prompt
from housequest.agent.training.export import Conversation, RecordedEpisodes, load, save
from housequest.agent.training.lora.games import Lessons, demonstrated, of_houses
from housequest.agent.training.lora.recipe import ADAPTER, CARD, CONVERSATIONS, RECORD, AdapterFolder, BaseModel, Recipe
from housequest.worlds.errors import ConfigurationError, KnowledgeError, shown

_PACKAGES = ("housequest", "torch", "transformers", "peft", "gguf")


@dataclass(frozen=True, slots=True)
class Training:
    """All that an adapter is made of; ``runs`` are folders whose won episodes are learned from, ``data`` has the games.

    So many ``workers`` play the lessons, or a ``cluster`` does; that changes no byte.
    """

    base: BaseModel
    lessons: Lessons
    recipe: Recipe
    runs: tuple[Path, ...] = ()
    data: Path | None = None
    workers: int = 1
    cluster: Pool | None = None

    def check(self) -> None:
        """Raise ``ConfigurationError`` for what cannot be learned."""
        self.recipe.check()
        self.lessons.check()
        if self.lessons.people and not self.lessons.games:
            raise ConfigurationError("--people: people worded the goals of games of train alone; give --games N.")
        if not (self.lessons.houses or self.lessons.games or self.runs):
            raise ConfigurationError("There is nothing to learn from: give --houses, --games or --from RUN.")

    def recorded(self) -> dict[str, Any]:
        """What the folder records of it. Paths are a machine's own, so of runs their names are kept, and what is in them."""
        return {
            "base": {"name": self.base.path.name, "digest": self.base.digest},
            "lessons": asdict(self.lessons) | {"agents": list(self.lessons.agents)},
            "runs": [{"name": run.name, "digest": digest([run])} for run in self.runs],
            "recipe": asdict(self.recipe),
        }


@dataclass(slots=True)
class Listener:
    """Hears how far things are; a subclass shows it."""

    said: list[str] = field(default_factory=list[str])

    def say(self, text: str) -> None:
        """A sentence for people."""
        self.said.append(text)

    def played(self, games: int, of: int) -> None:
        """So many games ``of`` all were played."""

    def learned(self, progress: Any) -> None:
        """A step was taken (`optimise.Progress`)."""


@dataclass(frozen=True, slots=True)
class Planned:
    training: Training
    folder: AdapterFolder


def of_sizes(training: Training, houses: Iterable[int], folder: Path) -> list[Planned]:
    """An adapter for each number of ``houses``, from the fewest on, in folders of their own below ``folder``."""
    return [
        Planned(replace(training, lessons=replace(training.lessons, houses=size)), AdapterFolder(folder / f"houses-{size}"))
        for size in sorted(set(houses))
    ]


def prepare_all(planned: Sequence[Planned], listener: Listener) -> list[list[Conversation]]:
    """The conversations that each of ``planned`` learns from: those in its folder if it has all of them, else played.

    They differ in their houses alone, and the last has most, so its games are played, once for all. Raises
    ``ConfigurationError`` and ``KnowledgeError``. Needs no torch.
    """
    for each in planned:
        each.training.check()
        each.folder.begun(each.training.recorded())

    @cache
    def played() -> list[Conversation]:
        most, left_out = planned[-1].training, Counter[str]()
        found = list(demonstrated(most.lessons, most.data, listener.played, most.workers, most.cluster, left_out))
        for why, games in left_out.most_common():
            listener.say(f"{games:,} game{'s' * (games != 1)} {why}: left out")
        return found

    return [_prepared(each, listener, lambda each=each: of_houses(played(), each.training.lessons.houses)) for each in planned]


def _prepared(planned: Planned, listener: Listener, play: Callable[[], Iterable[Conversation]]) -> list[Conversation]:
    """What ``planned`` learns from; ``play`` gives the conversations of its games."""
    folder, wanted = planned.folder, planned.training.recorded()
    before = folder.begun(wanted)
    known = before.get("conversations", {})
    file = folder.path / CONVERSATIONS
    if file.exists() and known.get("sha256") == _digest(file):
        return load(file)
    # Before the games, which take longer to play than a run to read.
    won = list(recorded(planned.training.runs, listener)) if planned.training.runs else []
    played = play()
    folder.path.mkdir(parents=True, exist_ok=True)
    number = save(chain(played, won), file)
    if not number:
        raise ConfigurationError("There is nothing to learn from: the expert won none of these games as this agent.")
    conversations = load(file)
    replies = sum(len(each.learned) for each in conversations)
    learned = {"number": number, "replies": replies, "sha256": _digest(file)}
    if known and known != learned:
        # As another version of the expert plays them.
        folder.refuse_to_go_on([CONVERSATIONS])
        before = {}
    folder.record(before | wanted | {"conversations": learned})
    return conversations


def recorded(folders: Sequence[Path], listener: Listener) -> Iterator[Conversation]:
    """The conversations of the won episodes in ``folders``, but for those in the short prompts of ``builtin``.

    Raises ``KnowledgeError`` where there is none.
    """
    found = short = 0
    for episode in RecordedEpisodes(folders):
        for conversation in episode.conversations:
            if any(is_brief_prompt(message.content) for message in conversation.messages if message.role == "user"):
                short += 1
            else:
                found += 1
                yield conversation
    named = ", ".join(shown(str(folder), 100) for folder in folders)
    if not (found or short):
        raise KnowledgeError(
            f"{named}: there is no won episode with a model in a split that may be learned from; play some there."
        )
    if not found:
        raise KnowledgeError(
            f"{named}: builtin played there, in short prompts that no other model is sent. Learn from games that another model "
            "won, or from the expert: --houses N."
        )
    if short:
        listener.say(f"{short:,} conversations of builtin are left out: no other model is sent its short prompts")


def train_all(
    planned: Sequence[Planned], listener: Listener, *, device: str = "auto", threads: int | None = None, room: int | None = None
) -> list[dict[str, Any]]:
    """Make the adapters one after another, or go on making them, and return what is recorded of each.

    They differ in their houses alone, and the last has most. Raises ``ConfigurationError``.
    """
    from housequest.agent.training.lora import optimise
    from housequest.agent.training.lora.recipe import encode

    # What may be refused at once is looked at before the games are played.
    for each in planned:
        each.training.check()
    where: Any = optimise.machine(device, threads, room)
    base = planned[-1].training.base
    tokenizer = base.tokenizer()
    if not all(_whole(each.folder) for each in planned):
        # Loaded once, since only its weights show whether they are whole.
        config = base.network(where.dtype).config
        try:
            optimise.check_architecture(config)
        except optimise.UnknownArchitecture as error:
            listener.say(str(error))
    lessons = planned[-1].training.lessons
    if lessons.houses or lessons.games:
        for conversation in demonstrated(replace(lessons, houses=1, games=0, people=False)):
            encode(conversation, tokenizer)  # raises where the chat template does not take the agent's conversations
    prepared = prepare_all(planned, listener)
    made: list[dict[str, Any]] = []
    for each, conversations in zip(planned, prepared, strict=True):
        before: dict[str, Any] = each.folder.recipe().get("adapter", {})
        whole = _whole(each.folder)
        if whole or len(planned) > 1:
            listener.say(f"{each.folder.path}{' is made already' if whole else ''}")
        made.append(before if whole else _trained(each.training, each.folder, conversations, tokenizer, where, listener))
    return made


def _whole(folder: AdapterFolder) -> bool:
    made: dict[str, Any] = folder.recipe().get("adapter", {})
    return bool(made) and (folder.path / made.get("file", CARD)).exists()


def _trained(
    training: Training,
    folder: AdapterFolder,
    conversations: Sequence[Conversation],
    tokenizer: Any,
    where: Any,
    listener: Listener,
) -> dict[str, Any]:
    """Make an adapter of ``conversations``, and return what is recorded of it."""
    from housequest.agent.training.lora import optimise
    from housequest.agent.training.lora.recipe import encoded

    samples, cut = encoded(conversations, tokenizer, training.recipe.context)
    if not samples:
        raise ConfigurationError(f"No reply begins within {training.recipe.context} tokens; give a larger --context.")
    tokens, learned = sum(len(each.tokens) for each in samples), sum(len(each.learned) for each in samples)
    steps = optimise.steps_of(len(samples), training.recipe)
    listener.say(
        f"{len(samples):,} conversations, {tokens:,} tokens, {learned:,} of them to learn; {steps:,} steps on "
        f"{optimise.about(where)}"
    )
    if cut:
        listener.say(f"{cut:,} conversations are longer than {training.recipe.context:,} tokens; their ends are not learned")
    network = training.base.network(where.dtype)
    adapted = optimise.train(network, samples, folder.path, training.recipe, where, listener.learned)
    adapted.save_pretrained(folder.path)
    end = json.loads((folder.path / RECORD).read_text("utf-8").splitlines()[-1])
    made: dict[str, Any] = {"steps": end["step"], "loss": end["loss"], "seconds": end["seconds"], "on": optimise.about(where)}
    versions = {package: installed_version(package) or "not installed" for package in _PACKAGES}
    made |= {"tokens": tokens, "learned": learned, "versions": versions}
    try:
        state, file = optimise.peft.get_peft_model_state_dict(adapted), folder.path / ADAPTER
        made |= {"file": file.name, "sha256": optimise.write_adapter(state, adapted.config, training.recipe.alpha, file)}
    except optimise.UnknownArchitecture as error:
        listener.say(str(error))
    folder.record(folder.recipe() | {"adapter": made})
    # peft writes a card of its own, which says nothing of what was learned.
    (folder.path / CARD).write_text(card(training, made), "utf-8")
    return made


def card(training: Training, made: Mapping[str, Any]) -> str:
    """What a reader of the folder has to know of the adapter, in Markdown."""
    lessons, recipe = training.lessons, training.recipe
    settings = ", ".join(f"{key}={value}" for key, value in (lessons.settings or {}).items())
    learned = [f"{lessons.houses:,} made-up houses"] if lessons.houses else []
    learned += [f"{lessons.games:,} games of train{', with what people wrote too' if lessons.people else ''}"] * bool(
        lessons.games
    )
    learned += [f"what was won in {run.name}" for run in training.runs]
    plays = f"It plays as {', '.join(lessons.agents)}{f', with {settings}' if settings else ''}."
    return f"""# An adapter for {training.base.path.name}

{plays} It was learned from {" and ".join(learned)}; never from valid_seen or valid_unseen.

LoRA of rank {recipe.rank}, {made["steps"]:,} steps, {made["tokens"]:,} tokens of which {made["learned"]:,} were learned, loss
{made["loss"]} nats a token. Trained by `housequest train`; recipe.json has the whole recipe, with digests and versions.
"""


def _digest(file: Path) -> str:
    return sha256(file.read_bytes()).hexdigest()


def folder_name(base: BaseModel, agents: Sequence[str]) -> str:
    """The folder of an adapter without a name: that of its model and what it learned to play."""
    path = base.path.resolve()
    return f"{path.stem if base.is_gguf else path.name}-{'-'.join(agents)}"
