"""How long the command takes to answer, and what it loads on the way."""

from __future__ import annotations

import subprocess
import sys
import time
from pathlib import Path
from statistics import median

RUNS = 9
HEAVY = ("textual", "openai", "numpy", "torch")
_HELP = "from housequest.tui.cli import main; import sys; sys.argv = ['housequest', '--help']; main()"


def run(data: Path | None) -> list[str]:
    """Seconds to start Python alone, to import housequest, and to print the help; medians of ``RUNS`` processes each."""
    del data
    programs = {
        "python alone": "pass",
        "import housequest": "import housequest",
        "housequest --help": _HELP,
    }
    seconds = {name: [_seconds(code) for _ in range(RUNS)] for name, code in programs.items()}
    lines = [f"{name:<22} {median(values):6.3f} s   (fastest {min(values):.3f})" for name, values in seconds.items()]
    loaded = _loaded(_HELP)
    lines.append(f"{'heavy modules loaded':<22} {', '.join(loaded) or 'none'} of {', '.join(HEAVY)}")
    return lines


def _seconds(code: str) -> float:
    began = time.perf_counter()
    subprocess.run([sys.executable, "-c", code], check=True, stdout=subprocess.DEVNULL)
    return time.perf_counter() - began


def _loaded(code: str) -> list[str]:
    probe = (
        "import atexit, sys\n"
        f"atexit.register(lambda: print(*[m for m in {HEAVY!r} if m in sys.modules], file=sys.stderr))\n{code}"
    )
    done = subprocess.run([sys.executable, "-c", probe], check=True, capture_output=True, text=True)
    return done.stderr.split()
