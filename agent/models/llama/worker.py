"""The process in which a GGUF model runs: ``python -m agent.models.llama.worker``.

If the model crashes it (out of memory, a fault in compiled code), the app and the run go on.
"""

from __future__ import annotations

import importlib.util
import os
import threading
from dataclasses import asdict
from typing import Any

from agent.models.llama.options import LlamaOptions
from agent.models.llama.protocol import Call, Load, Runtime
from worlds.workers import Handler, serve

MOST_THREADS = 512


def start(first: Any) -> tuple[dict[str, Any], Handler]:
    """Load the model that ``first`` names. Raises ``Refused``."""
    # A debugger's output would follow the last words of compiled code.
    os.environ.setdefault("GGML_NO_BACKTRACE", "1")
    runtime = load(Load(first["path"], first["context"], LlamaOptions(**first["options"])))

    def answer(request: Any, cancelled: threading.Event) -> dict[str, Any]:
        return asdict(runtime.answer(Call(**request), cancelled))

    return asdict(runtime.ready), answer


def load(wanted: Load) -> Runtime:
    """The model in the runtime that was asked for, or in the one that is installed. Raises ``Refused``."""
    name = wanted.options.runtime
    if name == "auto":
        name = "llama-cpp-python" if importlib.util.find_spec("llama_cpp") else "xllamacpp"
    if name == "llama-cpp-python":
        from agent.models.llama.llamacpp import LlamaCpp

        return LlamaCpp(wanted)
    from agent.models.llama.xllama import Xllama

    return Xllama(wanted)


if __name__ == "__main__":
    serve(start, MOST_THREADS)
