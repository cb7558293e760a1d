"""What both runtimes need: chat templates in place of a model's own, grammars of given texts, and errors that they share."""

from __future__ import annotations

from pathlib import Path

from housequest.agent.models.base import Request
from housequest.agent.models.forms import Choice, grammar_of
from housequest.agent.models.processors import processors
from housequest.worlds.paths import read_file
from housequest.worlds.workers import Refused

LESS_MEMORY = "If memory ran out, try a smaller model, or fewer slots or a smaller context: ?slots=1&context=2048."
LARGEST = 1 << 20

# The marks of ChatML, which many models were trained with: https://github.com/openai/openai-python/blob/v0.28.1/chatml.md
_CHATML = (
    "{% for message in messages %}<|im_start|>{{ message['role'] }}\n{{ message['content'] }}<|im_end|>\n{% endfor %}"
    "{% if add_generation_prompt %}<|im_start|>assistant\n{% endif %}"
)


def usual_threads() -> int:
    """Threads where none are named: one less than the processors that this process may use.

    Threads of a model wait for each other at every layer, so where one of them has to share its core, all of them stand still.
    """
    return max(1, processors() - 1)


def said_threads(threads: int) -> str:
    """How many threads compute, in words."""
    return f"{threads} thread{'' if threads == 1 else 's'}"


def load_template(named: str) -> str:
    """The chat template that ``chatml`` or a file holds (Jinja). Raises ``Refused``."""
    if named == "chatml":
        return _CHATML
    try:
        content = read_file(Path(named), LARGEST + 1)
        if len(content) <= LARGEST:
            return content.decode("utf-8")
        reason = f"it has more than {LARGEST:,} bytes"
    except (OSError, ValueError) as error:
        reason = (error.strerror if isinstance(error, OSError) else None) or str(error)
    way_out = "Name a file with ?template=FILE, or ?template=chatml."
    raise Refused(f"has no chat template {named!r} ({reason})", way_out, fatal=True)


def empty_prompt() -> Refused:
    """The template made no tokens of a conversation."""
    return Refused("has a chat template that makes nothing of this conversation", "Name another: ?template=FILE.")


def too_long(tokens: object, room: object) -> Refused:
    """A prompt of ``tokens`` does not fit into a context of ``room`` tokens."""
    # Room for a reply, and for some turns more.
    enough = f"{-(-(tokens + 1_024) // 1_024) * 1_024}" if isinstance(tokens, int) else "TOKENS"
    return Refused(
        f"has a context of {room} tokens, and the prompt has {tokens}",
        f"Give it more with ?context={enough} after the file, or let the agent see less.",
        overflow=True,
    )


def grammar_for(request: Request) -> str | None:
    """The grammar (GBNF) that a reply is held to: its own, or that of the texts to choose from."""
    return request.grammar if request.choices is None else grammar_of(Choice(tuple(request.choices)))
