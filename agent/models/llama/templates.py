"""Chat templates in place of a model's own."""

from __future__ import annotations

from pathlib import Path

from worlds.workers import Refused

LARGEST = 1 << 20

# The marks of ChatML, which many models were trained with: https://github.com/openai/openai-python/blob/v0.28.1/chatml.md
_CHATML = (
    "{% for message in messages %}<|im_start|>{{ message['role'] }}\n{{ message['content'] }}<|im_end|>\n{% endfor %}"
    "{% if add_generation_prompt %}<|im_start|>assistant\n{% endif %}"
)


def load_template(named: str) -> str:
    """The chat template that ``chatml`` or a file holds (Jinja). Raises ``Refused``."""
    if named == "chatml":
        return _CHATML
    try:
        content = Path(named).read_bytes()
        if len(content) <= LARGEST:
            return content.decode("utf-8")
        reason = f"it has more than {LARGEST:,} bytes"
    except (OSError, ValueError) as error:
        reason = str(error)
    raise Refused(
        f"has no chat template {named!r} ({reason})", "Name a file with ?template=FILE, or ?template=chatml.", fatal=True
    )


def empty_prompt() -> Refused:
    """That a template made no token of a conversation, after which nothing can be said."""
    return Refused("has a chat template that makes nothing of this conversation", "Name another: ?template=FILE.")
