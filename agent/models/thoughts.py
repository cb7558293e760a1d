"""Separates thinking from the text of a reply."""

from __future__ import annotations

import re

_NAME = r"(?:\w{1,12}[:_])?(?:think|thinking|thought|reasoning)"
_CHANNEL = r"(?:<\|end\|>)?(?:<\|start\|>assistant)?<\|channel\|>"
_OVER = (
    rf"</{_NAME}>|(?-i:\[/THINK\])|◁/think▷|<\|end_(?:of_)?{_NAME}\|>|{_CHANNEL}final<\|message\|>|<channel\|>"
    r"|<\|inner_suffix\|>|(?-i:Here(?: is|'s) my response:)"
)
_BEGUN = (
    rf"<{_NAME}>|(?-i:\[THINK\])|◁think▷|<\|(?:begin_of|start)_{_NAME}\|>|{_CHANNEL}analysis<\|message\|>|<\|channel>thought"
    r"|<\|inner_prefix\|>|(?-i:Here(?: is|'s) my thought process:)"
)
_AROUND = (
    r"<\|(?:begin_of_|end_of_|start_|end_)(?:solution|response)\|>|<\|(?:return|im_end|eot_id)\|>|<end_of_turn>"
    r"|</?(?:answer|response)>"
)
_MARK = re.compile(rf"(?=[<\[◁H])(?:(?P<over>{_OVER})|(?P<begun>{_BEGUN})|{_AROUND})", re.IGNORECASE)
"""Marks for the end and the beginning of a thought, and other marks around a reply."""


def split_thoughts(text: str, *, midst: bool = False) -> tuple[str, str]:
    """Split ``text`` into reply and thinking. A thought in the middle of a reply stays, unless ``midst`` is set.

    Everything before an end without a beginning is thinking, since some templates put the beginning into the prompt; so is
    everything after a beginning without an end, since that thought was cut off.
    """
    said, thought, at, silent = list[str](), list[str](), 0, True
    begun: re.Match[str] | None = None
    for mark in (*_MARK.finditer(text), None):
        start, end = mark.span() if mark else (len(text), len(text))
        if begun is None:
            said.append(text[at:start])
            silent, at = silent and not said[-1].strip(), end
            if mark and mark["over"]:
                thought.append("".join(said))
                said, silent = [], True
            begun = mark if mark and mark["begun"] else None
        elif mark is None or mark["over"]:
            if midst or silent:
                thought.append(text[at:start])
            else:
                said.append(text[begun.start() : end])
            begun, at = None, end
    reply = "".join(said)
    return (reply.lstrip() if thought else reply), "\n".join(filter(None, map(str.strip, thought)))
