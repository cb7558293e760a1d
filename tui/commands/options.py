"""The options that several commands share, declared once. Unset ones are None, so that files and the environment count."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Annotated

import typer

World = Annotated[str | None, typer.Option("--world", metavar="NAME", help="The world to play in [alfworld].")]
Engine = Annotated[str | None, typer.Option("--engine", metavar="NAME", help="Who steps it: native or textworld [native].")]
Split = Annotated[str | None, typer.Option("--split", metavar="NAME", help="The split to take tasks from.")]
Type = Annotated[
    list[str] | None,
    typer.Option("--type", metavar="TYPE", help="Only tasks of this type, or a word of it (heat); may be repeated."),
]
Goals = Annotated[
    str | None,
    typer.Option("--goals", metavar="WHOSE", help="template, human, human:N or human:seed=N, or human+steps [template]."),
]
Habits = Annotated[
    str | None,
    typer.Option("--habits", metavar="FILE", help="A YAML file that says where things lie in made-up houses."),
]
WorldOption = Annotated[
    list[str] | None,
    typer.Option("--world-option", metavar="KEY=VALUE", help="An option of the world; may be repeated."),
]
Seed = Annotated[int | None, typer.Option("--seed", metavar="N", help="The seed of draws and models [0].")]
Agent = Annotated[
    str | None, typer.Option("--agent", metavar="NAME", help="Who plays: expert, human, react, reasoner-actor, opex, ...")
]
Model = Annotated[
    str | None,
    typer.Option(
        "--model",
        metavar="MODEL",
        help="builtin, openai:NAME, openai:NAME@http://HOST:PORT/v1, llama:FILE.gguf or scripted:FILE [builtin].",
    ),
]
Timeout = Annotated[
    float | None, typer.Option("--timeout", metavar="SECONDS", help="How long a model may take to answer a call [60].")
]
Grant = Annotated[
    list[str] | None,
    typer.Option("--grant", metavar="WHAT", help="admissible, diagnosis or type: what the agent sees beyond text; repeatable."),
]
MaxSteps = Annotated[int | None, typer.Option("--max-steps", metavar="N", help="Turns until an episode is lost [50].")]
Set = Annotated[list[str] | None, typer.Option("--set", metavar="KEY=VALUE", help="A setting of the agent; may be repeated.")]
Rules = Annotated[
    str | None,
    typer.Option("--rules", metavar="BOOK", help="Rules that the agent is told: a rulebook's name or file, or none."),
]
RulesBudget = Annotated[
    int | None,
    typer.Option("--rules-budget", metavar="N", help="About how many tokens of them an episode has [1000]."),
]
Limit = Annotated[int | None, typer.Option("--limit", metavar="N", help="Only the first N tasks.")]
Sample = Annotated[int | None, typer.Option("--sample", metavar="N", help="Only N tasks, drawn with --seed.")]
Workers = Annotated[int | None, typer.Option("--workers", metavar="N", help="Episodes at once [1].")]
Retry = Annotated[str | None, typer.Option("--retry", metavar="errors", help="Play errored episodes again.")]
Budget = Annotated[
    list[str] | None,
    typer.Option("--budget", metavar="KIND=AMOUNT", help="calls=1000, tokens=2M, money=5 or time=90m; may be repeated."),
]
DryRun = Annotated[bool, typer.Option("--dry-run", help="Say what would be played, and stop.")]
AsJson = Annotated[bool, typer.Option("--json", help="Print the figures as JSON.")]


def retries(retry: str | None) -> bool:
    """Whether errored episodes are played again. Raises ``ConfigurationError`` for anything else that is to be retried."""
    from worlds.errors import ConfigurationError, shown

    if retry not in (None, "errors"):
        raise ConfigurationError(f"--retry: {shown(retry)} cannot be retried; give --retry errors.")
    return retry is not None


def settings(arguments: Mapping[str, object]) -> dict[str, object]:
    """Those of a command's ``arguments`` (its ``locals()`` at the start) that are settings, by their names."""
    from agent.config import Settings

    return {key: arguments[key] for key in Settings.model_fields if key in arguments}
