"""Makes an adapter from a base model and lessons, in a folder from which an interrupted run resumes.

Conversations are rendered by the model's own chat template, and the tokens to learn are marked: a reply's text and its end
mark, which the model has to write itself. The folder has::

    conversations.jsonl        the training data
    recipe.json                base model, lessons, runs, recipe and versions, with digests
    record.jsonl               step, loss and seconds
    checkpoint.pt              for resuming
    adapter_model.safetensors  the adapter for peft and vLLM, with adapter_config.json
    adapter.gguf               the adapter for llama.cpp
    README.md                  a description
"""

from __future__ import annotations

import json
from bisect import bisect_left
from collections import Counter
from collections.abc import Callable, Generator, Iterable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, ExitStack, contextmanager
from dataclasses import asdict, dataclass, field, replace
from functools import cache
from hashlib import sha256
from importlib import import_module
from itertools import chain
from pathlib import Path
from typing import Any, NamedTuple

from housequest.agent.episodes.moments import digest
from housequest.agent.evaluation.runs.files import flattened
from housequest.agent.evaluation.runs.spec import installed_version
from housequest.agent.models.base import Message
from housequest.agent.models.gguf import fingerprint, read_header
from housequest.agent.processes import Pool
from housequest.agent.roles.base import plain_text
from housequest.agent.roles.brief import is_brief_prompt
from housequest.agent.training import CHECKPOINT
from housequest.agent.training.export import Conversation, RecordedEpisodes, load, save
from housequest.agent.training.lora.games import Lessons, demonstrated, of_houses
from housequest.worlds.alfworld.world import AlfworldWorld
from housequest.worlds.errors import ConfigurationError, KnowledgeError, shown
from housequest.worlds.locks import held
from housequest.worlds.paths import atomic_write
from housequest.worlds.tasks import as_splits


class TokenizedConversation(NamedTuple):
    """The tokens of a conversation, and the places of learned ones."""

    tokens: tuple[int, ...]
    learned: tuple[int, ...]


def encoded(conversations: Iterable[Conversation], tokenizer: Any, context: int) -> tuple[list[TokenizedConversation], int]:
    """Encode conversations as samples of at most ``context`` tokens, and count those that were cut at their end. Raises
    ``ConfigurationError`` if the chat template cannot render a conversation."""
    samples: list[TokenizedConversation] = []
    cut = 0
    for conversation in conversations:
        whole = encode(conversation, tokenizer)
        cut += len(whole.tokens) > context
        learned = tuple(place for place in whole.learned if place < context)
        if learned:
            samples.append(TokenizedConversation(whole.tokens[:context], learned))
    return samples, cut


def encode(conversation: Conversation, tokenizer: Any) -> TokenizedConversation:
    """Encode one conversation as one text, as in play. Raises ``ConfigurationError``."""
    messages = conversation.messages

    def rendered(prompt: Sequence[Message], *, reply: bool) -> str:
        # Plain text is continued up to the end of a line.
        return plain_text(prompt) if conversation.plain else _rendered(tokenizer, prompt, reply=reply)

    replies: list[tuple[int, int]] = []
    written = ""
    for place in conversation.learned:
        prompt = rendered(messages[:place], reply=True)
        with_reply = rendered(messages[: place + 1], reply=False)
        if not prompt.startswith(written) or not with_reply.startswith(prompt):
            raise ConfigurationError(
                "The chat template writes a conversation anew with every message, so its replies cannot be learned in one "
                "pass. Name another template in the model's tokenizer_config.json."
            )
        said = messages[place].content.strip()
        at = with_reply.find(said, len(prompt))
        replies.append((len(prompt), at + len(said) if at >= 0 else len(with_reply)))
        written = with_reply
    # Add the tokenizer's beginning of a text, unless the template wrote it.
    mark: int | None = tokenizer.bos_token_id
    adds = list(tokenizer("a")["input_ids"][:1]) == [mark]
    begin = [mark] if mark is not None and adds and not written.startswith(tokenizer.bos_token) else []
    read = tokenizer(written, add_special_tokens=False, return_offsets_mapping=True)
    starts, ends = [start for start, _ in read["offset_mapping"]], [end for _, end in read["offset_mapping"]]
    learned: list[int] = []
    for begins, text_ends in replies:
        first = bisect_left(starts, begins)
        if first and ends[first - 1] > begins:
            raise ConfigurationError(
                "The tokenizer joins the end of a prompt with the beginning of the reply, which a model cannot do in play. "
                "Name a chat template in the model's tokenizer_config.json that ends a prompt with a mark or a new line."
            )
        # The first token after the text is the end mark; later ones are the template's, not the model's.
        last = min(bisect_left(starts, text_ends) + 1, len(starts))
        learned += range(len(begin) + first, len(begin) + last)
    return TokenizedConversation((*begin, *read["input_ids"]), tuple(learned))


def _rendered(tokenizer: Any, messages: Sequence[Message], *, reply: bool) -> str:
    from jinja2 import TemplateError

    if not tokenizer.chat_template:
        raise ConfigurationError(
            "The model has no chat template, so its prompts cannot be written. Take its instruction-tuned "
            "version, or have it learn plain text: --set form=completion."
        )
    plain = [{"role": one.role, "content": one.content} for one in messages]
    try:
        return str(tokenizer.apply_chat_template(plain, tokenize=False, add_generation_prompt=reply))
    except (TemplateError, ValueError) as error:
        raise ConfigurationError(f"The model's chat template does not take an agent's conversation: {error}.") from None


_READ = ("config.json", "tokenizer.json", "tokenizer_config.json", "*.safetensors", "*.bin")


@dataclass(frozen=True, slots=True)
class BaseModel:
    """A model's file or folder, with its digest."""

    path: Path
    digest: str

    @property
    def is_gguf(self) -> bool:
        return self.path.is_file()

    def tokenizer(self) -> Any:
        return self._loaded("AutoTokenizer")

    def network(self, dtype: Any) -> Any:
        """Load the network with weights of ``dtype``, dequantised from GGUF. Raises ``ConfigurationError``."""
        # By default, transformers keeps the weights of some architectures packed, and warns about all others.
        packed = {"quantization_config": import_module("transformers").GgufConfig(dequantize=True)} if self.is_gguf else {}
        return self._loaded("AutoModelForCausalLM", dtype=dtype, **packed)

    def _loaded(self, loader: str, **options: Any) -> Any:
        transformers: Any = import_module("transformers")
        transformers.utils.logging.disable_progress_bar()
        where: dict[str, Any] = {"gguf_file": self.path.name} if self.is_gguf else {}
        folder = self.path.parent if self.is_gguf else self.path
        try:
            return getattr(transformers, loader).from_pretrained(folder, local_files_only=True, **where, **options)
        except Exception as error:  # noqa: BLE001 - damaged files raise any error of the libraries below transformers
            said = " ".join(str(error).split()) or type(error).__name__
            raise ConfigurationError(
                f"{shown(str(self.path), 200)} cannot be loaded by transformers: {shown(said, 300).rstrip('.')}. Give a GGUF "
                "file of an architecture that it dequantises, or the whole folder of the original model."
            ) from None


def base_model(path: Path) -> BaseModel:
    """Check the model at ``path`` without loading it. Raises ``ConfigurationError`` if there is none."""
    if path.is_dir():
        files = sorted({file for pattern in _READ for file in path.glob(pattern)})
        if not (path / "config.json").is_file():
            raise ConfigurationError(f"{shown(str(path), 200)} holds no config.json, so it is no model's folder.")
        parts = [f"{file.name} {fingerprint(file)}\n" for file in files]
        return BaseModel(path, sha256("".join(parts).encode()).hexdigest())
    read_header(path)
    return BaseModel(path, fingerprint(path))


CONVERSATIONS, RECIPE = "conversations.jsonl", "recipe.json"
ADAPTER, CARD = "adapter.gguf", "README.md"


@dataclass(frozen=True, slots=True)
class LoraRecipe:
    """The settings of LoRA: matrices of this ``rank``, scaled by ``alpha / rank``, beside every linear layer. ``rate`` is the
    highest learning rate, reached after the share ``warmup`` of the steps; from there it falls to 0. A step has ``batch``
    conversations of at most ``context`` tokens."""

    rank: int = 8
    alpha: int = 16
    rate: float = 1e-3
    epochs: int = 2
    batch: int = 8
    context: int = 4_096
    warmup: float = 0.05
    seed: int = 1


@dataclass(frozen=True, slots=True)
class AdapterFolder:
    path: Path

    def recipe(self) -> dict[str, Any]:
        """Read the record of the training; empty if there is none."""
        file = self.path / RECIPE
        return json.loads(file.read_text("utf-8")) if file.exists() else {}

    def adapter(self) -> dict[str, Any]:
        """Read the record of the finished adapter; empty before that."""
        made: dict[str, Any] = self.recipe().get("adapter", {})
        return made if made and (self.path / made.get("file", CARD)).exists() else {}

    def begun(self, wanted: Mapping[str, Any]) -> dict[str, Any]:
        """Read the record of the ``wanted`` training; empty if it has not begun here. Raises ``ConfigurationError`` if another
        training has a checkpoint here."""
        before = self.recipe()
        known = flattened({name: before.get(name) for name in wanted})
        asked = flattened(json.loads(json.dumps(wanted)))
        others = [name for name in {**asked, **known} if known.get(name) != asked.get(name)]
        if others:
            self.refuse_to_go_on(others)
        return {} if others else before

    def refuse_to_go_on(self, others: Sequence[str]) -> None:
        """Raise ``ConfigurationError`` if a training with different ``others`` has a checkpoint here."""
        if (self.path / CHECKPOINT).exists():
            raise ConfigurationError(
                f"{shown(str(self.path), 200)} was begun with another {', '.join(others)}; give the same again to go on, "
                "or another --out."
            )

    def locked(self) -> AbstractContextManager[None]:
        """Hold the folder; entering raises ``InUse`` if another command trains there."""
        return held(self.path / ".lock", f"{self.path} is being trained by another command; wait for it or stop it.")

    def record(self, parts: Mapping[str, Any]) -> None:
        """Replace the record by ``parts``."""
        atomic_write(self.path / RECIPE, json.dumps(dict(parts), indent=1).encode())


_PACKAGES = ("housequest", "torch", "transformers", "peft", "gguf")


@dataclass(frozen=True, slots=True)
class Training:
    """All inputs of an adapter. ``runs`` are folders whose won episodes are learned from, and ``data`` has the games. Lessons
    are played by ``processes`` or a ``cluster``, which does not change a byte."""

    base: BaseModel
    lessons: Lessons
    recipe: LoraRecipe
    runs: tuple[Path, ...] = ()
    data: Path | None = None
    processes: int = 1
    cluster: Pool | None = None

    def check(self) -> None:
        """Raise ``ConfigurationError`` for an impossible training."""
        self.lessons.check()
        if self.lessons.human_goals and not self.lessons.games:
            raise ConfigurationError("--human-goals: only games of train have people's goals; give --games N.")
        if not (self.lessons.houses or self.lessons.games or self.runs):
            raise ConfigurationError("There is nothing to learn from: give --houses, --games or --from RUN.")

    def recorded(self) -> dict[str, Any]:
        """The record for the folder. It names runs by their names and digests, since paths differ between machines."""
        return {
            "base": {"name": self.base.path.name, "digest": self.base.digest},
            "lessons": asdict(self.lessons) | {"agents": list(self.lessons.agents)},
            "runs": [{"name": run.name, "digest": digest([run])} for run in self.runs],
            "recipe": asdict(self.recipe),
        }


@dataclass(slots=True)
class Listener:
    """Receives the progress; a subclass shows it."""

    said: list[str] = field(default_factory=list[str])

    def say(self, text: str) -> None:
        """Show a sentence."""
        self.said.append(text)

    def played(self, games: int, of: int) -> None:
        """Show the number of ``games`` played so far, out of ``of``."""

    def learned(self, progress: Any) -> None:
        """Show a step (`optimise.TrainingProgress`)."""


class PlannedTraining(NamedTuple):
    training: Training
    folder: AdapterFolder


def of_sizes(training: Training, houses: Iterable[int], folder: Path) -> list[PlannedTraining]:
    """Plan an adapter for each number of ``houses``, from the fewest on: several in folders of their own below ``folder``."""
    sizes = sorted(set(houses))
    places = [folder / f"houses-{size}" for size in sizes] if len(sizes) > 1 else [folder]
    lessons = [replace(training.lessons, houses=size) for size in sizes]
    pairs = zip(lessons, places, strict=True)
    return [PlannedTraining(replace(training, lessons=each), AdapterFolder(place)) for each, place in pairs]


def prepare_all(planned: Sequence[PlannedTraining], listener: Listener) -> list[list[Conversation]]:
    """The conversations for each of ``planned``, from its folder if they are complete there, or else played. The trainings
    differ only in their houses, and the last has most, so its games are played once for all. Needs no torch. Raises
    ``ConfigurationError`` and ``KnowledgeError``."""
    for each in planned:
        each.training.check()
    with _locked(planned):
        return _prepare_all(planned, listener)


@contextmanager
def _locked(planned: Sequence[PlannedTraining]) -> Generator[None]:
    """Hold the folders of ``planned``. Raises ``InUse``."""
    with ExitStack() as locks:
        for each in planned:
            locks.enter_context(each.folder.locked())
        yield


def _prepare_all(planned: Sequence[PlannedTraining], listener: Listener) -> list[list[Conversation]]:
    for each in planned:
        each.folder.begun(each.training.recorded())

    @cache
    def played() -> list[Conversation]:
        most, left_out = planned[-1].training, Counter[str]()
        found = list(demonstrated(most.lessons, most.data, listener.played, most.processes, most.cluster, left_out))
        for why, games in left_out.most_common():
            listener.say(f"{games:,} game{'s' * (games != 1)} {why}: left out")
        return found

    return [_prepared(each, listener, lambda each=each: of_houses(played(), each.training.lessons.houses)) for each in planned]


def _prepared(planned: PlannedTraining, listener: Listener, play: Callable[[], Iterable[Conversation]]) -> list[Conversation]:
    folder, wanted = planned.folder, planned.training.recorded()
    before = folder.begun(wanted)
    known = before.get("conversations", {})
    file = folder.path / CONVERSATIONS
    if file.exists() and known.get("sha256") == _digest(file):
        return load(file)
    # Read runs first, since that is faster than playing games and may fail.
    won = list(recorded(planned.training.runs, listener)) if planned.training.runs else []
    played = play()
    folder.path.mkdir(parents=True, exist_ok=True)
    number = save(chain(played, won), file)
    if not number:
        raise ConfigurationError("There is nothing to learn from: the expert won none of these games as this agent.")
    conversations = load(file)
    replies = sum(len(each.learned) for each in conversations)
    learned: dict[str, Any] = {"number": number, "replies": replies, "sha256": _digest(file)}
    if won:
        tasks = ((split, int(seed)) for split, _, seed in (each.origin.partition(":") for each in won))
        learned["from"] = list(as_splits(tasks, AlfworldWorld.info.endless_splits))
    if known and known != learned:
        # Another version of the expert played other games.
        folder.refuse_to_go_on([CONVERSATIONS])
        before = {}
    folder.record(before | wanted | {"conversations": learned})
    return conversations


def recorded(folders: Sequence[Path], listener: Listener) -> Iterator[Conversation]:
    """The conversations of the won episodes in ``folders``, without those in the short prompts of ``builtin``. Raises
    ``KnowledgeError`` if there are none."""
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
    planned: Sequence[PlannedTraining],
    listener: Listener,
    *,
    device: str = "auto",
    threads: int | None = None,
    batch_tokens: int | None = None,
) -> list[dict[str, Any]]:
    """Make the adapters one by one, or resume that, and return the record of each. They differ only in their houses, and the
    last has most. Raises ``ConfigurationError``."""
    from housequest.agent.training.lora import optimise

    # Refuse early, before games are played.
    for each in planned:
        each.training.check()
    where: Any = optimise.machine(device, threads, batch_tokens)
    base = planned[-1].training.base
    tokenizer = base.tokenizer()
    if not all(each.folder.adapter() for each in planned):
        # Load it once, since only loading shows that the weights are whole.
        config = base.network(where.dtype).config
        try:
            optimise.check_architecture(config)
        except optimise.UnknownArchitecture as error:
            listener.say(str(error))
    lessons = planned[-1].training.lessons
    if lessons.houses or lessons.games:
        for conversation in demonstrated(replace(lessons, houses=1, games=0, human_goals=False)):
            encode(conversation, tokenizer)  # raises if the chat template cannot render the agent's conversations
    made: list[dict[str, Any]] = []
    with _locked(planned):
        for each, conversations in zip(planned, _prepare_all(planned, listener), strict=True):
            finished = each.folder.adapter()
            if finished or len(planned) > 1:
                listener.say(f"{each.folder.path}{' is already trained' if finished else ''}")
            made.append(finished or _trained(each.training, each.folder, conversations, tokenizer, where, listener))
    return made


def _trained(
    training: Training,
    folder: AdapterFolder,
    conversations: Sequence[Conversation],
    tokenizer: Any,
    where: Any,
    listener: Listener,
) -> dict[str, Any]:
    from housequest.agent.training.lora import optimise

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
    end = json.loads((folder.path / optimise.RECORD).read_text("utf-8").splitlines()[-1])
    made: dict[str, Any] = {"steps": end["step"], "loss": end["loss"], "seconds": end["seconds"], "on": optimise.about(where)}
    versions = {package: installed_version(package) or "not installed" for package in _PACKAGES}
    made |= {"tokens": tokens, "learned": learned, "versions": versions}
    try:
        state, file = optimise.peft.get_peft_model_state_dict(adapted), folder.path / ADAPTER
        made |= {"file": file.name, "sha256": optimise.write_adapter(state, adapted.config, training.recipe.alpha, file)}
    except optimise.UnknownArchitecture as error:
        listener.say(str(error))
    folder.record(folder.recipe() | {"adapter": made})
    # Replace peft's own card, which does not tell the training data.
    atomic_write(folder.path / CARD, card(training, made).encode())
    return made


def card(training: Training, made: Mapping[str, Any]) -> str:
    """The adapter's card in Markdown."""
    lessons, recipe = training.lessons, training.recipe
    settings = ", ".join(f"{key}={value}" for key, value in (lessons.settings or {}).items())
    learned = [f"{lessons.houses:,} made-up houses"] if lessons.houses else []
    if lessons.games:
        learned.append(f"{lessons.games:,} games of train{', with human goals too' if lessons.human_goals else ''}")
    learned += [f"the won episodes of {run.name}" for run in training.runs]
    plays = f"It plays as {', '.join(lessons.agents)}{f', with {settings}' if settings else ''}."
    return f"""# An adapter for {training.base.path.name}

{plays} It was learned from {" and ".join(learned)}; never from valid_seen or valid_unseen.

LoRA of rank {recipe.rank}, {made["steps"]:,} steps, {made["tokens"]:,} tokens of which {made["learned"]:,} were learned, loss
{made["loss"]} nats a token. Trained by `housequest train`; recipe.json has the whole recipe, with digests and versions.
"""


def _digest(file: Path) -> str:
    return sha256(file.read_bytes()).hexdigest()


def folder_name(base: BaseModel, agents: Sequence[str]) -> str:
    """The default name of an adapter's folder: its model and its agents."""
    path = base.path.resolve()
    return f"{path.stem if base.is_gguf else path.name}-{'-'.join(agents)}"
