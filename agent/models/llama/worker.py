"""The process in which a GGUF model runs: ``python -m housequest.agent.models.llama.worker``; see `housequest.worlds.workers`.

If the model crashes it (out of memory, a fault in compiled code), the app and the run go on.
"""

from __future__ import annotations

import os
from dataclasses import asdict
from importlib import import_module
from typing import Any

from housequest.agent.models.base import Message, Request
from housequest.agent.models.llama import LlamaOptions
from housequest.worlds.workers import Asking, Handler, Refused, serve


def start(first: Any) -> tuple[str, Handler]:
    """Load the model described by ``first``. Raises ``Refused``."""
    # A debugger's output would hide the last lines of compiled code.
    os.environ.setdefault("GGML_NO_BACKTRACE", "1")
    options = LlamaOptions(**first["options"])
    if options.runtime == "llama-cpp-python":
        try:
            # Before NumPy: a CUDA build crashed if NumPy was loaded first.
            import_module("llama_cpp")
            from housequest.agent.models.llama.decoding import LlamaCpp as Runtime
        except (ImportError, OSError) as error:
            raise Refused(f"llama-cpp-python cannot be imported ({error})", "Install it, or name ?runtime=xllamacpp.") from None
    else:
        from housequest.agent.models.llama.xllama import Xllama as Runtime
    runtime: Any = Runtime(first["path"], first["context"], options)

    def answer(asked: Any, asking: Asking) -> dict[str, Any] | int:
        messages = [Message(**each) for each in asked.pop("messages")]
        if "room" in asked:
            return runtime.room(messages, raw="raw" in asked)
        if "texts" in asked:
            return asdict(runtime.score(messages, asked["texts"], asking))
        # JSON has no numbers as keys, so the bias comes as pairs.
        tell = asking.tell if asked.pop("attended") else None
        request = Request(messages, bias=dict(asked.pop("bias")), **asked)
        return asdict(runtime.complete(request, asking, tell))

    return runtime.description, answer


if __name__ == "__main__":
    serve(start, threads=512)
