"""Writes docs/reference/protocols.md from the protocols that there are: ``python -m scripts.protocol_cards``."""

from __future__ import annotations

import textwrap
from pathlib import Path

from housequest.agent.protocols import ANY, PROTOCOLS, Protocol, Values, said

PAGE = Path(__file__).resolve().parent.parent / "docs" / "reference" / "protocols.md"
OPENING = """\
# Protocols

Scores on ALFWorld can seldom be compared. They are measured on different splits and under different turn limits, some with
admissible commands shown; some are the best of several runs and some their mean; some papers play lost games again.
`--protocol NAME` plays as a published figure was measured: it sets all of the conditions below, and refuses a flag that
contradicts one. It names every setting of its agent: "any" means that the protocol leaves it open, and "another" that you
may change the value before it:

<!-- not run: endpoint -->
```console
$ housequest eval --protocol react --model openai:NAME
$ housequest eval --protocol react --model openai:NAME --set exemplars=alfworld_3prompts.json   # the released exemplars
$ housequest eval --protocol verl-agent --model openai:NAME --repeat 3 --set window_prompt=alfworld.py   # its own prompts
$ housequest eval --protocol reflexion --model openai:NAME --retry-lost 11   # 12 trials, as one of its figures
```

You may play a part of the tasks (`--limit`, `--sample`, `--type`); the card then says so. A protocol wins over your
`housequest.toml` and the environment. Give it with the command, or in an arm of a sweep (`protocol: react`; not
`reflexion`, since a sweep plays nothing again), never in a `housequest.toml`.

Every report has a card with these lines: protocol, split, tasks, goals, turns, grants, retries, repeats, asked (as a chat,
or as plain text that the model continues), examples, rules, weights (the first digits of a digest of the model's file or
the agent's network), sees (text, or what its camera shows, and with which perception), prior (what is known of places
before anything was seen), learned (which houses and games the model and the agent's networks learned from), data (the
first digits of a digest of the games), engine and, where a model was asked, served (what answered, as its server calls
itself) and called (when the first and the last call was answered).
`compare` warns of each line of the card in which two runs differ, turn limits and wordings of goals among them; it refuses
runs over different games. `report --against published` says under which protocol a figure was measured.

## Repeats and retries

- `--repeat N` plays each task N times, with consecutive seeds. The report has the mean with two intervals: over other tasks
  of this kind (each task counts once, however many of its runs there are), and over other seeds on the same
  tasks (Student's; none if the runs do not differ, as greedy ones do not). Then come the spread (least, best, standard
  deviation), and pass@k, the chance that at least one of k runs wins a task, by the unbiased estimator of Chen et al.
  (2021). The best run is shown separately, since it is chosen by its result.
- `--retry-lost N` plays what was not won again, up to N times. The report shows the success of the first attempt and,
  separately, what was won in the end. With `react`, `exemplars` and `--set reflect=on` (as `--protocol reflexion`), each
  further attempt begins with a call that sees the whole lost game and says what went wrong; the prompt has what was said of
  the last three attempts. An error of the endpoint is not a lost game: no further attempt begins while an episode has
  errored; `--retry-errors` plays it again and continues. An episode that errors even then, say because a prompt is longer
  than the context, stays an error and is left out of further attempts.

`report` and `compare` take the folder of such a series. `report --against published` compares the mean, or what was won in
the end, with figures of as many trials, and `--csv`, `--markdown` and `--html` have every run. `compare` pairs the tasks of
two series: each counts once, with its mean over the repeats, or with the end of its last attempt. Each repeat and each
attempt is also a run in its own folder inside the series' folder. `--repeat 5` into the folder of `--repeat 3` plays two
more.

## The protocols

*Seen* cites what we saw in public copies, by repository and file; below it is what differs here, or could not be seen.
"""


def page() -> str:
    """The page."""
    return "\n".join([OPENING, *("\n".join(_card(protocol)) for protocol in PROTOCOLS.values())]) + "\n"


def _card(protocol: Protocol) -> list[str]:
    settings = [*protocol.settings.items(), *((f"set {key}", values) for key, values in protocol.set.items())]
    told = "; ".join(f"`{key}` {_values(values)}" for key, values in settings)
    parts = [f"### {protocol.name}", "", *_wrapped(f"{protocol.about}."), "", *_wrapped(f"Sets: {told}."), "", "Seen:", ""]
    parts += [line for text in protocol.seen for line in _wrapped(text, "- ")]
    parts += ["", "Differs, or not seen:", ""]
    return [*parts, *(line for text in protocol.differs for line in _wrapped(text, "- ")), ""]


def _values(values: Values) -> str:
    return " or ".join(map(said, values)) if values != (ANY,) else "any"


def _wrapped(text: str, mark: str = "") -> list[str]:
    marked = (
        text.replace("<think>", "`<think>`")
        .replace("<action>", "`<action>`")
        .replace("> command or > think: ...", "`> command` or `> think: ...`")
    )
    return textwrap.wrap(marked, 128, initial_indent=mark, subsequent_indent=" " * len(mark), break_on_hyphens=False)


if __name__ == "__main__":
    PAGE.write_text(page(), "utf-8")
