"""Records every prompt of a short episode of each agent in ``tests/agent/golden``: ``python -m scripts.record_prompts``.

A change of a prompt shows as a difference of these files, to be read before it is committed.
"""

from __future__ import annotations

from tests.agent.golden import SCENES, conversation


def main() -> None:
    for scene in SCENES:
        scene.path.parent.mkdir(exist_ok=True)
        scene.path.write_text(conversation(scene), "utf-8")


if __name__ == "__main__":
    main()
