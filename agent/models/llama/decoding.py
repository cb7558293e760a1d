"""GGUF models through llama-cpp-python, which is compiled on installation and exposes llama.cpp's own functions.

One thread decodes for all conversations, whose next tokens share a batch (continuous batching). Shared prompt prefixes are
cached. Texts are scored over the trie of their tokens. Imports llama-cpp-python.
"""

from __future__ import annotations

import json
import queue
import threading
from codecs import getincrementaldecoder
from collections.abc import Callable, Iterable, Iterator, Sequence
from concurrent.futures import Future
from dataclasses import dataclass, field
from importlib import import_module
from typing import Any, NamedTuple

import numpy as np

from housequest.agent.models.base import Completion, Message, Request, Scores, Timing, TokenChoice, Usage, shared_prefix
from housequest.agent.models.llama import LlamaOptions, grammar_for, too_long
from housequest.agent.models.llama.library import CANDIDATES, Library, Logits, Sampler, lib
from housequest.worlds.workers import Refused


@dataclass(slots=True)
class _Slot:
    """A sequence of the context: the tokens it holds, and the reply in progress. Without a reply, it is a cache."""

    sequence: int
    held: list[int] = field(default_factory=list[int])
    used: int = 0
    work: _Work | None = None


@dataclass(slots=True)
class _Work:
    """A reply in progress: the tokens ``due`` to be evaluated, and the text so far."""

    call: Request
    sampler: Sampler
    cancelled: threading.Event
    tell: Callable[[str], None] | None
    prompt: int
    due: list[int]
    answer: Future[Completion] = field(default_factory=Future[Completion])
    cached: int = 0
    said: bytearray = field(default_factory=bytearray)
    number: int = 0
    tokens: list[TokenChoice] = field(default_factory=list[TokenChoice])


class _Entry(NamedTuple):
    """A token of a batch with its position in its sequences; ``wanted``: the logits after it are needed."""

    token: int
    position: int
    sequences: tuple[int, ...]
    wanted: bool


class LlamaCpp:
    """A loaded model with its own thread; can be called concurrently. Raises ``Refused`` if it cannot be loaded."""

    def __init__(self, path: str, context: int, options: LlamaOptions) -> None:
        self._library = Library(path, context, options)
        self.description = self._library.description
        self._cache = options.cache
        # A model that cannot drop the end of a sequence is scored over copies of it.
        self._exactly = options.exact and self._library.rewinds
        self._slots = tuple(_Slot(sequence) for sequence in range(self._library.sequences))
        self._most = options.slots
        self._waiting: list[_Work] = []
        self._clock = 0
        self._batch: Any = lib.llama_batch_init(self._library.batch, 0, CANDIDATES)
        self._jobs: queue.SimpleQueue[Callable[[], None] | None] = queue.SimpleQueue()
        self._thread = threading.Thread(target=self._decode, daemon=True)
        self._thread.start()

    def complete(self, request: Request, cancelled: threading.Event, tell: Callable[[str], None] | None = None) -> Completion:
        """Return a reply; ``tell`` gets the text so far after each token. Raises ``Refused``."""
        prompt = self._library.prompt(request.messages, raw=request.raw)
        if len(prompt) >= self._library.context_size:
            raise too_long(len(prompt), self._library.context_size)
        sampler = self._library.sampler(request, self._grammar(request))
        work = _Work(request, sampler, cancelled, tell, len(prompt), list(prompt))
        self._jobs.put(lambda: self._waiting.append(work))
        return work.answer.result()

    def score(self, messages: Sequence[Message], texts: Sequence[str], cancelled: threading.Event) -> Scores:
        """Score each text (nats) as the next message, while everything else waits. Raises ``Refused``."""
        prompt = self._library.prompt(messages)
        continuations = tuple(self._library.tokens(text, special=False) for text in texts)
        answer: Future[Scores] = Future()

        def job() -> None:
            try:
                answer.set_result(self._scored(prompt, continuations, cancelled))
            except Refused as refused:
                answer.set_exception(refused)

        self._jobs.put(job)
        return answer.result()

    def room(self, messages: Sequence[Message], *, raw: bool) -> int:
        """Tokens left in a context after this prompt; ``raw``: without a template. Raises ``Refused``."""
        return self._library.context_size - len(self._library.prompt(messages, raw=raw))

    def close(self) -> None:
        self._jobs.put(None)
        self._thread.join()

    def _grammar(self, request: Request) -> str | None:
        if request.schema is None:
            return grammar_for(request)
        grammars: Any = import_module("llama_cpp.llama_grammar")
        try:
            return str(grammars.json_schema_to_gbnf(json.dumps(request.schema)))
        except (ValueError, KeyError, TypeError, AttributeError, AssertionError, RecursionError) as error:
            raise Refused(f"cannot follow the schema ({error})", "Use a plain JSON schema.") from None

    def _decode(self) -> None:
        """Start waiting jobs and evaluate a batch at a time. Everything below runs in this thread."""
        while True:
            busy = bool(self._waiting) or any(slot.work is not None for slot in self._slots)
            try:
                job = self._jobs.get(block=not busy)
            except queue.Empty:
                self._step()
                continue
            if job is None:
                return
            job()

    def _step(self) -> None:
        """Evaluate one batch: the next token of every reply, and as much of new prompts as fits."""
        self._admit_waiting()
        entries: list[_Entry] = []
        asks: list[tuple[_Slot, _Work, int]] = []
        active = [(slot, work) for slot in self._slots if (work := slot.work) is not None]
        # Replies need one token each and go before long prompts.
        for slot, work in sorted(active, key=lambda each: len(each[1].due)):
            taken = work.due[: self._library.batch - len(entries)]
            if not taken:
                break
            start = len(slot.held)
            whole = len(taken) == len(work.due)
            for place, token in enumerate(taken):
                entries.append(_Entry(token, start + place, (slot.sequence,), wanted=whole and place == len(taken) - 1))
            slot.held.extend(taken)
            del work.due[: len(taken)]
            if whole:
                asks.append((slot, work, len(entries) - 1))
        if not entries:
            return
        if not self._evaluate(entries):
            for slot, work in active:
                self._clear(slot)
                slot.work = None
                _settle(work, _no_room())
            return
        for slot, work, place in asks:
            finish = self._sample_next(slot, work, place)
            if finish is not None:
                slot.work = None
                usage, timing = Usage(work.prompt, work.number), Timing(cached=work.cached)
                _settle(work, Completion(_decoded(work.said), finish, usage, timing, tuple(work.tokens)))

    def _sample_next(self, slot: _Slot, work: _Work, place: int) -> str | None:
        """Sample the next token of a reply; return the finish reason, or None if it goes on."""
        library, call = self._library, work.call
        logits = library.logits(place)
        logprobs = _log_softmax(logits) if call.top_logprobs else None
        token = work.sampler.sample(library.context, place)
        if lib.llama_vocab_is_eog(library.vocabulary, token):
            return "stop"
        work.number += 1
        work.said += library.piece(token)
        if logprobs is not None:
            likeliest = np.argsort(-logprobs, kind="stable")[: call.top_logprobs]
            others = tuple((library.text(int(each)), float(logprobs[each])) for each in likeliest)
            work.tokens.append(TokenChoice(library.text(token), float(logprobs[token]), others))
        if ends := [at for at in (work.said.find(stop.encode()) for stop in call.stop) if at >= 0]:
            del work.said[min(ends) :]
            return "stop"
        if work.number >= call.max_tokens or len(slot.held) + 1 >= library.context_size:
            return "length"
        if work.tell is not None:
            work.tell(_decoded(work.said))
        work.due.append(token)
        return None

    def _admit_waiting(self) -> None:
        """Drop cancelled calls, and start waiting ones in free slots."""
        for slot in self._slots:
            if (work := slot.work) is not None and work.cancelled.is_set():
                slot.work = None
                _settle(work, Completion("", "cancelled"))
        for work in [work for work in self._waiting if work.cancelled.is_set()]:
            self._waiting.remove(work)
            _settle(work, Completion("", "cancelled"))
        while self._waiting and (free := self._free()):
            work = self._waiting.pop(0)
            slot = self._taken(free, work.due)
            work.cached = len(slot.held)
            del work.due[: len(slot.held)]
            slot.work = work

    def _free(self) -> list[_Slot]:
        """The slots that may be taken; none while the most conversations are being decoded."""
        free = [slot for slot in self._slots if slot.work is None]
        return free if len(self._slots) - len(free) < self._most else []

    def _taken(self, free: Sequence[_Slot], prompt: Sequence[int]) -> _Slot:
        """Take the slot whose conversation ``prompt`` continues, else the least recently used one."""
        shared = {slot.sequence: shared_prefix(slot.held, prompt) for slot in free}
        same = [slot for slot in free if 2 * shared[slot.sequence] > len(slot.held)]
        if same:
            slot = max(same, key=lambda each: (shared[each.sequence], -each.used))
        else:
            slot = min(free, key=lambda each: each.used)
        self._keep_prefix(slot, prompt)
        self._clock += 1
        slot.used = self._clock
        return slot

    def _keep_prefix(self, slot: _Slot, prompt: Sequence[int]) -> None:
        """Keep or copy into ``slot`` the longest cached prefix of ``prompt`` from any slot."""
        # The last token is always evaluated, because its logits are needed.
        most = len(prompt) - 1 if self._cache else 0
        number = min(shared_prefix(slot.held, prompt), most)
        other = max(self._slots, key=lambda each: shared_prefix(each.held, prompt))
        found = min(shared_prefix(other.held, prompt), most)
        if other is not slot and found > number:
            self._clear(slot)
            self._library.copy(other.sequence, slot.sequence)
            slot.held, number = list(other.held), found
        if number == 0 or not self._library.forget(slot.sequence, number):
            self._clear(slot)
        else:
            del slot.held[number:]

    def _clear(self, slot: _Slot) -> None:
        self._library.forget(slot.sequence, -1)
        slot.held.clear()

    def _scored(self, prompt: Sequence[int], texts: Sequence[Sequence[int]], cancelled: threading.Event) -> Scores:
        library = self._library
        longest = max(map(len, texts), default=0)
        if len(prompt) + longest > library.context_size:
            raise too_long(len(prompt) + longest, library.context_size)
        # Evaluate batches until a slot is free.
        while not (free := self._free()):
            self._step()
        slot = self._taken(free, prompt)
        cached = len(slot.held)
        # The last token alone, as after a cached prefix: the batch size changes the last digits.
        self._fill(slot, prompt[cached:-1], cancelled)
        self._fill(slot, prompt[-1:], cancelled)
        if cancelled.is_set():
            return Scores(())
        # The logits after the prompt's last token score the first token of every text.
        first = _log_softmax(library.logits(0))
        totals = [float(first[tokens[0]]) if tokens else 0.0 for tokens in texts]
        evaluated = 0
        most = max(1, len(texts)) if self._exactly else CANDIDATES
        for group in (range(start, min(start + most, len(texts))) for start in range(0, len(texts), most)):
            shared = list(_trie(texts, group))
            evaluated += len(shared)
            for node, logprobs in self._walked(slot, shared) if self._exactly else self._batched(slot, shared, group):
                if cancelled.is_set():
                    return Scores(())
                for text in node.texts:
                    if node.depth + 1 < len(texts[text]):
                        totals[text] += float(logprobs[texts[text][node.depth + 1]])
        return Scores(tuple(totals), usage=Usage(len(prompt) + evaluated, 0), timing=Timing(cached=cached))

    def _walked(self, slot: _Slot, trie: Sequence[_Node]) -> Iterator[tuple[_Node, Logits]]:
        """Logits after each node, one at a time, so that no score depends on the other texts."""
        base = len(slot.held)
        try:
            for node in trie:
                self._library.forget(slot.sequence, base + node.depth)
                self._score_batch([_Entry(node.token, base + node.depth, (slot.sequence,), wanted=True)])
                yield node, _log_softmax(self._library.logits(0))
        finally:
            self._library.forget(slot.sequence, base)

    def _batched(self, slot: _Slot, trie: Sequence[_Node], group: range) -> Iterator[tuple[_Node, Logits]]:
        """Logits after each node, in full batches, with a sequence for each text."""
        library, base = self._library, len(slot.held)
        sequences = {text: library.sequences + place for place, text in enumerate(group)}
        for sequence in sequences.values():
            library.copy(slot.sequence, sequence)
        try:
            for start in range(0, len(trie), library.batch):
                part = trie[start : start + library.batch]
                shared = [tuple(sequences[text] for text in node.texts) for node in part]
                self._score_batch(
                    [_Entry(node.token, base + node.depth, of, wanted=True) for node, of in zip(part, shared, strict=True)]
                )
                for place, node in enumerate(part):
                    yield node, _log_softmax(library.logits(place))
        finally:
            for sequence in sequences.values():
                library.forget(sequence, -1)

    def _score_batch(self, entries: Sequence[_Entry]) -> None:
        if not self._evaluate(entries):
            raise Refused("has no room to score so many texts", "Give it fewer texts at once, or a larger context.")

    def _fill(self, slot: _Slot, tokens: Sequence[int], cancelled: threading.Event) -> None:
        for start in range(0, len(tokens), self._library.batch):
            if cancelled.is_set():
                return
            part, base = tokens[start : start + self._library.batch], len(slot.held)
            last = len(tokens) - 1 - start
            if not self._evaluate([_Entry(one, base + at, (slot.sequence,), at == last) for at, one in enumerate(part)]):
                self._clear(slot)
                raise _no_room()
            slot.held.extend(part)

    def _evaluate(self, entries: Sequence[_Entry]) -> bool:
        """Decode one batch; if the cache is full, empty idle slots until it fits, the least recently used first."""
        batch = self._batch
        batch.n_tokens = len(entries)
        for place, entry in enumerate(entries):
            batch.token[place] = entry.token
            batch.pos[place] = entry.position
            batch.n_seq_id[place] = len(entry.sequences)
            for at, sequence in enumerate(entry.sequences):
                batch.seq_id[place][at] = sequence
            batch.logits[place] = entry.wanted
        status = int(lib.llama_decode(self._library.context, batch))
        if status != 1:
            return status == 0
        taking = {sequence for entry in entries for sequence in entry.sequences}
        idle = [slot for slot in self._slots if slot.held and slot.work is None and slot.sequence not in taking]
        for slot in sorted(idle, key=lambda each: each.used):
            self._clear(slot)
            status = int(lib.llama_decode(self._library.context, batch))
            if status != 1:
                break
        return status == 0


def _decoded(said: bytearray) -> str:
    """The text of a reply without an incomplete last character, like llama.cpp's server."""
    return getincrementaldecoder("utf-8")("replace").decode(said)


def _settle(work: _Work, outcome: Completion | Refused) -> None:
    work.sampler.close()
    if isinstance(outcome, Refused):
        work.answer.set_exception(outcome)
    else:
        work.answer.set_result(outcome)


def _no_room() -> Refused:
    return Refused("has no room left for its conversations", "Give it fewer slots, or a smaller context.")


def _log_softmax(logits: Logits) -> Logits:
    wide = logits.astype(np.float64)
    wide -= wide.max()
    return (wide - np.log(np.exp(wide).sum())).astype(np.float32)


class _Node(NamedTuple):
    """A token that another follows, at a depth of some of the scored ``texts`` (by index)."""

    token: int
    depth: int
    texts: Sequence[int]


def _trie(texts: Sequence[Sequence[int]], group: Iterable[int], depth: int = 0) -> Iterator[_Node]:
    branches: dict[int, list[int]] = {}
    for text in group:
        # Nothing is needed after a text's last token.
        if depth + 1 < len(texts[text]):
            branches.setdefault(texts[text][depth], []).append(text)
    for token, below in branches.items():
        yield _Node(token, depth, below)
        yield from _trie(texts, below, depth + 1)
