"""llama.cpp's own server, as xllamacpp has it, in a process of its own."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from collections.abc import Generator
from contextlib import contextmanager
from pathlib import Path

SERVER = """
import sys, time, xllamacpp
parameters = xllamacpp.CommonParams()
parameters.model.path = sys.argv[1]
parameters.n_ctx, parameters.n_parallel, parameters.n_gpu_layers = 4096, 1, 0
parameters.cache_prompt, parameters.cache_ram_mib, parameters.warmup = False, 0, False
parameters.cache_type_k = parameters.cache_type_v = xllamacpp.ggml_type.GGML_TYPE_F32
parameters.flash_attn_type = xllamacpp.llama_flash_attn_type.LLAMA_FLASH_ATTN_TYPE_DISABLED
parameters.cpuparams.n_threads = parameters.cpuparams_batch.n_threads = 1
parameters.hostnames = ["127.0.0.1"]
parameters.port = 0
parameters.reasoning_format = xllamacpp.common_reasoning_format.COMMON_REASONING_FORMAT_NONE
if sys.argv[2:]:
    parameters.lora_adapters = [xllamacpp.CommonAdapterLoraInfo(sys.argv[2], 1.0)]
server = xllamacpp.Server(parameters)
print(server.listening_address, flush=True)
sys.stdin.read()
"""


@contextmanager
def serving(model: Path, lora: Path | None = None) -> Generator[str]:
    """A server of ``model`` with its adapter ``lora``; the model's name, by which it is asked."""
    command = [sys.executable, "-c", SERVER, str(model), *([] if lora is None else [str(lora)])]
    process = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
    try:
        assert process.stdout is not None
        address = next(line for line in process.stdout if line.startswith("http"))
        yield f"openai:any@{address.strip()}/v1"
    finally:
        os.kill(process.pid, signal.SIGKILL)
        process.wait()
