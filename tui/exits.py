"""The exit codes of every command, as `docs/explanation/reliability.md` has them."""

from __future__ import annotations

DONE = 0
"""Done."""
FAILED = 1
"""Done, but episodes errored or something is not whole; or a model or a game failed, or the reader of the output left."""
UNUSABLE = 2
"""The command, the configuration, a folder or a file cannot be used; the message names it. A full disk is such a one."""
STOPPED = 130
"""Stopped or interrupted; the same command resumes. A run whose disk is full is stopped."""
