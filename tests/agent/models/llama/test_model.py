"""A tiny random model through every runtime that is installed: all that it can do, and all that can befall it."""

from __future__ import annotations

import asyncio
import json
import math
import os
import re
import signal
import subprocess
import sys
import threading
from collections.abc import Awaitable, Callable, Iterator
from pathlib import Path
from typing import Any, TypeVar, cast

import pytest

from housequest.agent.config import configure
from housequest.agent.evaluation.runs.batch import RunOptions, run_batch
from housequest.agent.evaluation.runs.spec import make_run_spec
from housequest.agent.models.base import Message, ReplyProgress, Request, Watch, unwatched
from housequest.agent.models.checking import check_model
from housequest.agent.models.llama import ATTENDED_BATCH, LlamaProvider, installed
from housequest.agent.models.llama.model import STARTS, WORKER, LlamaModel
from housequest.agent.models.registry import make_model
from housequest.worlds.errors import ConfigurationError, ModelError, Unsupported
from tests.agent.models.tiny import Kind, token_of, write_tiny

pytestmark = pytest.mark.heavy

R = TypeVar("R")

EXACT = "cache_type=f32&flash=off&threads=1"
HELLO = [Message("system", "You act."), Message("user", "hello")]


@pytest.fixture(scope="module")
def tiny(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return write_tiny(tmp_path_factory.mktemp("model") / "tiny.gguf")


@pytest.fixture(params=["xllamacpp", "llama-cpp-python"])
def runtime(request: pytest.FixtureRequest) -> Iterator[str]:
    if request.param not in installed():
        pytest.skip(f"needs {request.param}")
    yield request.param


def use(path: Path, options: str, test: Callable[[LlamaModel], Awaitable[R]], timeout: float = 30.0) -> R:
    async def run() -> R:
        model = LlamaModel(path, LlamaProvider(f"tiny.gguf?{options}").options, name="llama:tiny.gguf", timeout=timeout)
        try:
            return await test(model)
        finally:
            await model.aclose()

    return asyncio.run(run())


def test_a_reply_with_all_that_can_be_asked_of_it(tiny: Path, runtime: str) -> None:
    async def test(model: LlamaModel) -> None:
        assert (await model.runtime()).startswith(f"{runtime} ")
        plain = await model.complete(Request(HELLO, max_tokens=12))
        assert (plain.finish, plain.usage.completion) == ("length", 12)
        assert plain.usage.prompt is not None
        assert (await model.complete(Request(HELLO, max_tokens=12))).text == plain.text

        stopped = await model.complete(Request(HELLO, max_tokens=12, stop=[plain.text[3:5]]))
        assert stopped.text == plain.text[:3]
        assert stopped.finish == "stop"

        chosen = await model.complete(Request(HELLO, max_tokens=40, choices=["go to fridge 1", 'say "ü" \\ to it']))
        assert chosen.text in {"go to fridge 1", 'say "ü" \\ to it'}
        schema = {"type": "object", "properties": {"n": {"type": "integer"}}, "required": ["n"], "additionalProperties": False}
        assert isinstance(json.loads((await model.complete(Request(HELLO, max_tokens=60, schema=schema))).text)["n"], int)

        told = await model.complete(Request(HELLO, max_tokens=4, top_logprobs=3))
        # Where bytes make no character yet, a runtime may tell of several tokens as one.
        assert 1 <= len(told.tokens) <= 4
        for token in told.tokens:
            assert len(token.alternatives) == 3
            assert sum(math.exp(logprob) for _, logprob in token.alternatives) < 1
        assert (await model.complete(Request(HELLO, max_tokens=3, bias={token_of("A"): 100.0}))).text == "AAA"
        assert (await model.complete(Request(HELLO, max_tokens=3, bias={"B": 100.0, token_of("C"): 50.0}))).text == "BBB"

        warm = [await model.complete(Request(HELLO, max_tokens=12, temperature=1.5, seed=seed)) for seed in (1, 1, 2)]
        assert warm[0].text == warm[1].text != warm[2].text

    use(tiny, f"runtime={runtime}&{EXACT}", test)


def test_plain_text_is_continued_without_the_template(tiny: Path, runtime: str) -> None:
    async def test(model: LlamaModel) -> None:
        assert (await model.capabilities()).completions
        whole = Request([Message("user", "go to fri"), Message("assistant", "dge 1\n>")], max_tokens=12, raw=True)
        parts = Request([Message("user", "go to fridge 1\n>")], max_tokens=12, raw=True)
        reply = await model.complete(whole)
        assert reply.text == (await model.complete(parts)).text
        assert reply.usage.completion == 12
        chatted = await model.complete(Request(parts.messages, max_tokens=12))
        assert reply.usage.prompt is not None
        assert chatted.usage.prompt is not None
        assert reply.usage.prompt < chatted.usage.prompt, "the template's marks are missing"
        stopped = await model.complete(Request(parts.messages, max_tokens=12, stop=[reply.text[3:5]], raw=True))
        # A character that the stop cuts in two is no part of the reply.
        assert stopped.text.rstrip("\ufffd") == reply.text[:3].rstrip("\ufffd")

    use(tiny, f"runtime={runtime}&{EXACT}", test)


def test_what_runs_it_is_shown(tiny: Path, runtime: str) -> None:
    proof = use(tiny, f"runtime={runtime}&{EXACT}", check_model)
    assert re.fullmatch(rf"{runtime} \d\S+, .+, 1 thread", proof.runtime)
    assert proof.broken == ()
    assert ("exact scores of texts" in {one.what for one in proof.abilities if one.works}) == (runtime != "xllamacpp")


def test_the_library_is_loaded_before_numpy(tiny: Path, tmp_path: Path) -> None:
    """A library that was compiled for CUDA crashed if NumPy was loaded first (docs/guides/models.md)."""
    if "llama-cpp-python" not in installed():
        pytest.skip("needs llama-cpp-python")
    options = {"runtime": "llama-cpp-python", "slots": 1, "gpu_layers": 0}
    first = json.dumps({"first": {"path": str(tiny), "context": 64, "options": options}})
    argv, log = [sys.executable, "-X", "importtime", "-m", WORKER], tmp_path / "imports"
    with (
        log.open("w") as imports,
        subprocess.Popen(argv, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=imports, text=True) as worker,
    ):
        assert worker.stdin is not None
        assert worker.stdout is not None
        worker.stdin.write(f"{first}\n")
        worker.stdin.flush()
        assert "ready" in json.loads(worker.stdout.readline())
        worker.stdin.close()
    imported = [line.rpartition("|")[2].strip() for line in log.read_text().splitlines() if line.startswith("import time:")]
    assert imported.index("llama_cpp.llama_cpp") < imported.index("numpy")


def test_what_prompts_begin_with_alike_is_evaluated_once(tiny: Path, runtime: str) -> None:
    async def test(model: LlamaModel) -> list[int | None]:
        talk, cached = list(HELLO), list[int | None]()
        for _ in range(3):
            reply = await model.complete(Request(talk, max_tokens=6))
            cached.append(reply.timing.cached)
            talk += [Message("assistant", reply.text), Message("user", "go on")]
        return cached

    first, second, third = use(tiny, f"runtime={runtime}&slots=1&threads=1", test)
    assert first == 0
    assert second is not None
    assert third is not None
    assert 20 < second < third
    assert use(tiny, f"runtime={runtime}&slots=1&threads=1&cache=off", test) == [0, 0, 0]


def test_conversations_that_take_turns_in_one_slot_are_read_once_each(tiny: Path, runtime: str) -> None:
    async def test(model: LlamaModel) -> list[list[int]]:
        talks = [[Message("user", f"{role}: {HELLO[-1].content} " + role * 30)] for role in ("plan", "act")]
        fresh: list[list[int]] = []
        for _ in range(3):
            for talk in talks:
                reply = await model.complete(Request(talk, max_tokens=6))
                assert reply.usage.prompt is not None
                assert reply.timing.cached is not None
                fresh.append([reply.usage.prompt, reply.usage.prompt - reply.timing.cached])
                talk += [Message("assistant", reply.text), Message("user", "go on")]
        return fresh

    plan, act, *later = use(tiny, f"runtime={runtime}&slots=1&threads=1", test)
    assert plan[1] > 100
    assert act[1] > 80
    assert all(new < 60 < whole - 80 for whole, new in later)


def test_a_cache_without_room_forgets_what_was_said_longest_ago(tiny: Path) -> None:
    if "llama-cpp-python" not in installed():
        pytest.skip("needs llama-cpp-python")

    async def test(model: LlamaModel) -> list[tuple[str, int | None]]:
        talks = [[Message("user", f"{number}: {'abcdefg'[number] * 150}")] for number in range(4)]
        replies = [await model.complete(Request(talks[number], max_tokens=6)) for number in (0, 1, 2, 3, 3, 0)]
        return [(reply.text, reply.timing.cached) for reply in replies]

    options = f"runtime=llama-cpp-python&context=200&batch=32&slots=1&{EXACT}"
    found, alone = (use(tiny, f"{options}&cache={cache}", test) for cache in ("on", "off"))
    assert [text for text, _ in found] == [text for text, _ in alone]
    again, forgotten = (cached or 0 for _, cached in found[-2:])
    assert again > 150
    assert forgotten < 50
    assert all(cached == 0 for _, cached in alone)


def test_many_at_once_say_what_each_says_alone(tiny: Path, runtime: str) -> None:
    async def talk(model: LlamaModel, number: int) -> list[str]:
        said, replies = [Message("user", f"house {number}: what now?")], list[str]()
        for turn in range(3):
            replies.append((await model.complete(Request(said, max_tokens=12 + number))).text)
            said += [Message("assistant", replies[-1]), Message("user", f"{turn}: nothing happens.")]
        return replies

    async def alone(model: LlamaModel) -> list[list[str]]:
        return [await talk(model, number) for number in range(8)]

    async def together(model: LlamaModel) -> list[list[str]]:
        return list(await asyncio.gather(*(talk(model, number) for number in range(8))))

    replies = use(tiny, f"runtime={runtime}&slots=1&{EXACT}", alone)
    for slots in (4, 8):
        assert use(tiny, f"runtime={runtime}&slots={slots}&{EXACT}", together) == replies


def test_given_texts_are_scored_exactly_where_they_can_be(tiny: Path, runtime: str) -> None:
    texts = ["go to fridge 1", "take mug 2", "", "go", "x" * 60] * 20

    async def test(model: LlamaModel) -> None:
        if runtime == "xllamacpp":
            assert not (await model.capabilities()).scoring
            with pytest.raises(Unsupported, match="llama-cpp-python"):
                await model.score(HELLO, texts)
            return
        many = (await model.score(HELLO, texts)).logprobs
        alone = [(await model.score(HELLO, [text])).logprobs[0] for text in texts[:5]]
        assert many == pytest.approx(alone * 20, abs=1e-3)
        assert many[2] == 0
        told = (await model.complete(Request(HELLO, max_tokens=1, top_logprobs=354))).tokens[0].alternatives
        # Two tokens stand for the letter: its own, and that of its byte.
        (scored,) = (await model.score(HELLO, ["A"])).logprobs
        assert any(scored == pytest.approx(logprob, abs=1e-3) for text, logprob in told if text == "A")

    use(tiny, f"runtime={runtime}&{EXACT}", test)


def test_a_text_longer_than_a_batch_is_scored(tiny: Path, runtime: str) -> None:
    if runtime == "xllamacpp":
        pytest.skip("it does not score")
    texts = ["ab" * 100, "c"]

    async def test(model: LlamaModel) -> tuple[float, ...]:
        return (await model.score(HELLO, texts)).logprobs

    options = f"runtime={runtime}&slots=1&{EXACT}"
    assert use(tiny, f"{options}&batch=1", test) == pytest.approx(use(tiny, options, test), abs=1e-3)


def test_scoring_stops_where_it_is_called_off(tiny: Path) -> None:
    if "llama-cpp-python" not in installed():
        pytest.skip("needs llama-cpp-python")
    from housequest.agent.models.llama.decoding import LlamaCpp

    called_off = threading.Event()
    called_off.set()
    runtime = LlamaCpp(str(tiny), 128, LlamaProvider("tiny.gguf?slots=1&threads=1").options)
    try:
        assert runtime.score(HELLO, ("go", "take"), called_off).logprobs == ()
        assert len(runtime.score(HELLO, ("go", "take"), threading.Event()).logprobs) == 2
    finally:
        runtime.close()


def test_a_template_that_says_nothing_is_an_error(tmp_path: Path, runtime: str) -> None:
    mute = write_tiny(tmp_path / "mute.gguf", Kind(begins=False))
    (tmp_path / "empty.jinja").write_text("{{ '' }}")

    async def test(model: LlamaModel) -> None:
        with pytest.raises(ModelError, match=r"writes nothing for this conversation.*template=FILE"):
            await model.complete(Request(HELLO, max_tokens=3))
        if runtime == "llama-cpp-python":
            with pytest.raises(ModelError, match="writes nothing for this conversation"):
                await model.score(HELLO, ["a"])

    use(mute, f"runtime={runtime}&threads=1&template={tmp_path / 'empty.jinja'}", test)


def test_a_prompt_that_is_too_long_says_what_would_help(tiny: Path, runtime: str) -> None:
    async def test(model: LlamaModel) -> None:
        with pytest.raises(ModelError, match=r"context of 256 tokens, and the prompt has \d+.*context=2048"):
            await model.complete(Request([Message("user", "x" * 400)]))
        short = await model.complete(Request([Message("user", "x")], max_tokens=3))
        assert short.text
        assert short.usage.prompt is not None
        rooms = [await model.context_left([Message("user", "x" * size)]) for size in (1, 400)]
        left = 256 - short.usage.prompt
        assert rooms == [left, left - 399]

    use(tiny, f"runtime={runtime}&context=256&slots=1&threads=1", test)


def test_a_model_without_a_template_counts_the_room_beside_plain_text(tmp_path: Path, runtime: str) -> None:
    async def test(model: LlamaModel) -> None:
        said = await model.complete(Request((Message("user", "onetwo"),), max_tokens=1, raw=True))
        assert said.usage.prompt is not None
        for raw in (True, False):
            assert (
                await model.context_left((Message("system", "one"), Message("user", "two")), raw=raw) == 256 - said.usage.prompt
            )

    mute = write_tiny(tmp_path / "mute.gguf", Kind(template=False))
    use(mute, f"runtime={runtime}&context=256&slots=1&threads=1", test)


def test_a_process_that_dies_is_an_error_and_then_another(tiny: Path, runtime: str) -> None:
    async def test(model: LlamaModel) -> None:
        for life in range(STARTS):
            assert (await model.runtime()).startswith(f"{runtime} ")
            waiting = asyncio.create_task(model.complete(Request(HELLO, max_tokens=400)))
            await asyncio.sleep(0)
            _kill(model)
            with pytest.raises(ModelError, match="was killed") as caught:
                await waiting
                await model.complete(Request(HELLO))
            assert not caught.value.fatal, life
        with pytest.raises(ModelError, match="has died 3 times") as caught:
            await model.complete(Request(HELLO))
        assert caught.value.fatal

    use(tiny, f"runtime={runtime}&threads=1", test)


def _kill(model: LlamaModel) -> None:
    pid = model.pid
    assert pid is not None
    os.kill(pid, signal.SIGKILL)


def test_a_fault_reaches_all_who_wait_and_the_next_call_is_answered(tiny: Path, runtime: str) -> None:
    async def test(model: LlamaModel) -> None:
        await model.runtime()
        other = asyncio.create_task(model.complete(Request(HELLO, max_tokens=15_000, bias={token_of("A"): 100.0})))
        await asyncio.sleep(0)
        # Nobody checks what only a fault of our own could ask for; what decodes meets it in a thread of its own.
        with pytest.raises(ModelError, match=r"TypeError: .*str") as caught:
            await model.complete(Request(HELLO, max_tokens=cast(Any, "many")))
        assert caught.value.boundary == "model"
        assert not caught.value.fatal
        if runtime == "llama-cpp-python":
            with pytest.raises(ModelError, match=r"TypeError: .*'str'"):
                await other
        other.cancel()
        assert (await model.complete(Request(HELLO, max_tokens=3))).usage.completion == 3

    use(tiny, f"runtime={runtime}&slots=2&context=16384&threads=1", test, timeout=60.0)


def test_decoding_stops_where_a_call_is_called_off(tiny: Path, runtime: str) -> None:
    """How far it came is what the next prompt, which goes on with the whole reply, finds in the cache."""
    whole = 3_500

    async def decoded(model: LlamaModel, wait: float) -> int:
        said = [Message("user", f"wait {wait}")]
        task = asyncio.create_task(model.complete(Request(said, max_tokens=whole, bias={token_of("A"): 100.0})))
        await asyncio.sleep(wait)
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task
        reply = await model.complete(Request([*said, Message("assistant", "A" * whole)], max_tokens=1))
        assert reply.timing.cached is not None
        return reply.timing.cached - len(f"[user]wait {wait}\n[assistant]")

    async def test(model: LlamaModel) -> None:
        await model.runtime()
        found: list[int] = []
        # Called off sooner and later, until it is in the midst of it; what goes on to the end never is.
        for power in range(7):
            found.append(await decoded(model, 0.01 * 2**power))
            if 9 < found[-1] < whole - 9:
                return
        pytest.fail(f"of {whole} tokens it had decoded {found}")

    use(tiny, f"runtime={runtime}&slots=1&context=4096&threads=1", test, timeout=60.0)


def attended(path: Path, runtime: str, test: Callable[[LlamaModel], Awaitable[R]], watch: Watch = unwatched) -> R:
    async def run() -> R:
        model = make_model(f"llama:{path}?runtime={runtime}&threads=1&cache=on&gpu_layers=0", watch=watch)
        assert isinstance(model, LlamaModel)
        try:
            return await test(model)
        finally:
            await model.aclose()

    return asyncio.run(run())


def test_who_attends_reads_a_reply_as_it_comes(tiny: Path, runtime: str) -> None:
    seen = list[ReplyProgress]()

    async def test(model: LlamaModel) -> None:
        whole = (await model.complete(Request(HELLO, max_tokens=800, bias={token_of("A"): 100.0}))).text
        *heard, last = (progress.heard for progress in seen)
        assert len(heard) > 3
        assert all(whole.startswith(before) for before in heard)
        assert heard == sorted(heard, key=len)
        assert not last, "nothing is being said any more"

    attended(tiny, runtime, test, seen.append)


def test_a_long_prompt_that_is_called_off_stops_within_a_batch(tiny: Path, runtime: str) -> None:
    """How far it came is what the next prompt, which begins alike, finds in the cache."""

    async def read(model: LlamaModel, wait: float, number: int) -> int:
        asked = [Message("user", f"{number} {'x' * 7_000}")]
        call = asyncio.create_task(model.complete(Request(asked, max_tokens=1)))
        await asyncio.sleep(wait)
        call.cancel()
        with pytest.raises(asyncio.CancelledError):
            await call
        return (await model.complete(Request(asked, max_tokens=1))).timing.cached or 0

    async def test(model: LlamaModel) -> None:
        await model.runtime()
        found: list[int] = []
        # Called off sooner and later, until it is in the midst of it.
        for power in range(9):
            found.append(await read(model, 0.01 * 2**power, power))
            if 16 < found[-1] < 6_900:
                return
        pytest.fail(f"of 7,000 tokens it had read {found}, in batches of {ATTENDED_BATCH}")

    attended(tiny, runtime, test)


def test_a_call_that_takes_too_long_is_an_error(tiny: Path, runtime: str) -> None:
    async def test(model: LlamaModel) -> None:
        await model.runtime()
        with pytest.raises(ModelError, match=r"did not answer within 0\.0001 seconds.*--timeout"):
            await model.complete(Request(HELLO, max_tokens=450))

    use(tiny, f"runtime={runtime}&threads=1", test, timeout=0.0001)


def test_what_cannot_be_loaded_says_why(tmp_path: Path, runtime: str) -> None:
    (tmp_path / "text.gguf").write_text("not a model")
    write_tiny(tmp_path / "mute.gguf", Kind(template=False))
    tiny = write_tiny(tmp_path / "tiny.gguf")

    async def ask(model: LlamaModel) -> str:
        return (await model.complete(Request(HELLO, max_tokens=3))).text

    for path, options, why in (
        (tmp_path / "none.gguf", "", "No such file"),
        (tmp_path / "text.gguf", "", "is not a GGUF file"),
        (tmp_path / "mute.gguf", "", "has no chat template.*template=chatml"),
    ):
        with pytest.raises(ConfigurationError, match=why):
            use(path, f"runtime={runtime}&threads=1&{options}", ask)
    for name, why in (
        ("none.gguf", r"The adapter .*No such file"),
        ("text.gguf", "is not a GGUF file"),
        ("tiny.gguf", "is not an adapter"),
    ):
        with pytest.raises(ConfigurationError, match=why):
            use(tiny, f"runtime={runtime}&threads=1&lora={tmp_path / name}", ask)
    with pytest.raises(ModelError, match="no chat template"):
        use(tiny, f"runtime={runtime}&threads=1&template={tmp_path / 'none.jinja'}", ask)
    if runtime == "llama-cpp-python":
        with pytest.raises(ModelError, match=r"decodes 192 conversations at once.*slots=192"):
            use(tiny, f"runtime={runtime}&threads=1&slots=193", ask)
    assert use(tmp_path / "mute.gguf", f"runtime={runtime}&template=chatml", ask)

    async def go_on(model: LlamaModel) -> str:
        return (await model.complete(Request([Message("user", "> go to")], max_tokens=3, raw=True))).text

    # A base model, which has none, continues plain text.
    assert use(tmp_path / "mute.gguf", f"runtime={runtime}&threads=1", go_on)


def test_a_run_with_a_model_that_talks_rubbish_ends(tiny: Path, runtime: str, tmp_path: Path) -> None:
    flags = {
        "world": "scripted",
        "agent": "react",
        "model": f"llama:{tiny}?runtime={runtime}&slots=2&threads=1",
        "max_steps": 4,
        "set": ["max_tokens=24"],
    }
    plan = make_run_spec(configure(flags, tmp_path))
    assert str(tiny.parent) not in plan.manifest.model_dump_json()
    assert plan.manifest.configuration.script_sha256
    summary = asyncio.run(run_batch(plan, tmp_path / "run", RunOptions(concurrency=3)))
    assert (summary.overall.finished, summary.overall.errors) == (3, 0)
    assert summary.overall.unreadable > 0


def test_the_head_of_a_file_is_read_once_however_many_ask_first(tiny: Path, runtime: str) -> None:
    opened: list[object] = []

    def watch(event: str, arguments: tuple[object, ...]) -> None:
        # Opening it tells of itself twice, by name and by what it is opened for.
        if event == "open" and str(arguments[0]) == str(tiny) and arguments[1] is None:
            opened.append(arguments)

    async def test(model: LlamaModel) -> None:
        await asyncio.gather(*(model.probe("forms") for _ in range(8)))
        assert len(opened) == 1

    sys.addaudithook(watch)
    use(tiny, f"runtime={runtime}&context=256&slots=1&threads=1", test)
