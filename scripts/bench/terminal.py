"""Runs a program on its own pseudo-terminal (pty) and times what it draws."""

from __future__ import annotations

import fcntl
import os
import pty
import re
import select
import struct
import subprocess
import sys
import termios
from codecs import getincrementaldecoder
from collections.abc import Mapping, Sequence
from pathlib import Path
from time import perf_counter
from types import TracebackType
from typing import Self

PATIENCE = 60.0
"""Seconds to wait for a program before giving up."""

_ROOT = Path(__file__).parents[2]
_PATH = os.pathsep.join((str(_ROOT / "src"), str(_ROOT)))
"""Where the package is, and these scripts."""
_KEPT = 1 << 20
_CONTROL = re.compile(r"\x1b(?:\[[0-?]*[ -/]*[@-~]|[PX^_\]].*?(?:\x07|\x1b\\)|[@-Z\\-_=>78])", re.DOTALL)


class Terminal:
    """Runs ``python -m arguments`` on a terminal of ``columns`` x ``rows``, from when it is made until the block is left.

    ``drawn`` is what was drawn since the last key, or the last of it, without control sequences.
    """

    def __init__(self, arguments: Sequence[str], folder: Path, size: tuple[int, int], environment: Mapping[str, str]) -> None:
        self._own, theirs = pty.openpty()
        columns, rows = size
        fcntl.ioctl(theirs, termios.TIOCSWINSZ, struct.pack("HHHH", rows, columns, 0, 0))
        self._forget()
        self._program = subprocess.Popen(
            # The first terminal that a session opens is its own, with which the program ends, also where the bench is killed.
            ["sh", "-c", 'exec "$@" <"$0"', os.ttyname(theirs), sys.executable, "-m", *arguments],
            cwd=folder,
            stdin=theirs,
            stdout=theirs,
            stderr=theirs,
            start_new_session=True,
            env={**os.environ, "PYTHONPATH": _PATH, "TERM": "xterm-256color", "COLORTERM": "truecolor", **environment},
        )
        os.close(theirs)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None) -> None:
        self._program.kill()
        self._program.wait()
        os.close(self._own)

    def until(self, text: str = "", size: int = 0) -> float:
        """Seconds since the last key, or since the program was started, until ``text`` and ``size`` bytes were drawn.

        Raises ``TimeoutError`` with what was drawn instead.
        """
        while self._size < size or text not in self.drawn:
            if not self._read(PATIENCE):
                raise TimeoutError(f"waited for {text!r} and {size} bytes; drawn: {self.drawn[-2_000:]!r}")
        return perf_counter() - self._began

    def press(self, keys: bytes) -> None:
        """Press ``keys`` and forget what was drawn before."""
        while self._read(0):
            pass
        self._forget()
        os.write(self._own, keys)

    def rest(self, seconds: float) -> None:
        """Let the program run on."""
        end = perf_counter() + seconds
        while (left := end - perf_counter()) > 0:
            self._read(left)

    def _forget(self) -> None:
        self.drawn, self._size, self._open = "", 0, ""
        self._decoder = getincrementaldecoder("utf-8")("replace")
        self._began = perf_counter()

    def _read(self, seconds: float) -> bool:
        if not select.select([self._own], [], [], seconds)[0]:
            return False
        try:
            more = os.read(self._own, 1 << 16)
        except OSError:  # on Linux, the other side has closed
            raise TimeoutError(f"the program ended: {self.drawn[-2_000:]}") from None
        self._size += len(more)
        # What came before is neither read again nor kept for ever, which takes minutes where megabytes of pictures are sent.
        text, escape, self._open = _CONTROL.sub("", self._open + self._decoder.decode(more)).partition("\x1b")
        self.drawn, self._open = (self.drawn + text)[-_KEPT:], escape + self._open
        # Asked where its cursor is and what it is, it answers at once, as terminals do.
        for question, answer in ((b"\x1b[6n", b"\x1b[1;1R"), (b"\x1b[c", b"\x1b[?62;22c")):
            if question in more:
                os.write(self._own, answer)
        return bool(more)
