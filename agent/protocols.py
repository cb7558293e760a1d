"""Named protocols: under what conditions published figures of ALFWorld were measured, as settings, with what was seen of each.

`housequest.agent.config.configure` sets all that a protocol names, and refuses a setting that contradicts it. Each says where
its conditions were read (repositories on GitHub, papers), and what here differs or could not be seen.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping
from dataclasses import dataclass, field
from importlib import resources
from typing import Any, cast

from housequest.worlds.errors import ConfigurationError, nearest, shown
from housequest.worlds.registry import DEFAULT_WORLD


@dataclass(frozen=True, slots=True)
class Such:
    """Among the values of a setting: all for which it ``holds``, ``told`` in words."""

    told: str
    holds: Callable[[object], bool]


ANY = Such("another", lambda _: True)
"""Every value: the protocol leaves the setting open."""

Values = tuple[object, ...]
"""The values of a setting that a protocol allows; the first is the one that it has if none is given."""


@dataclass(frozen=True, slots=True)
class Protocol:
    """The conditions of a measurement.

    ``settings`` are those of ``housequest.agent.config.Settings``, ``set`` all that its agents have, each with its `Values`.
    ``seen`` says what was read of it, and where; ``differs`` what is otherwise here, or was not to be seen. ``games`` is a file
    beside this one that lists its games, a line each, where it has not all of its split.
    """

    name: str
    about: str
    settings: Mapping[str, Values]
    set: Mapping[str, Values] = field(default_factory=dict[str, Values])
    seen: tuple[str, ...] = ()
    differs: tuple[str, ...] = ()
    games: str | None = None

    def tasks(self, split: str) -> frozenset[str] | None:
        """The ids of its games in ``split``; None where it has all games of it."""
        if self.games is None:
            return None
        listed = resources.files("housequest.agent").joinpath(self.games).read_text("utf-8")
        return frozenset(f"{split}/{line}" for line in listed.split())

    def beside(
        self,
        settings: Mapping[str, Values],
        given: Mapping[str, Any],
        before: Mapping[str, Any],
        known: Collection[str],
        place: Callable[[str], str],
    ) -> dict[str, Any]:
        """Those of ``settings`` that it sets: all that are ``known`` but those ``given``, which must not contradict it.

        Where it leaves a choice, one from ``before`` it was named stays. ``place`` says where a setting was given. Raises
        ``ConfigurationError``.
        """
        for key, values in settings.items():
            if key in given:
                _refuse_other(self, key, given[key], values, place(key))
        free = {key for key, values in settings.items() if key in before and _chosen(values, before[key])}
        unset = {key: values[0] for key, values in settings.items() if key in known and key not in given and key not in free}
        return {key: value for key, value in unset.items() if not isinstance(value, Such)}


_PLAIN: Mapping[str, Values] = {
    "world": (DEFAULT_WORLD,),
    "goals": ("template",),
    "grant": ((),),
    "rules": (None,),
    "retries": (0,),
}
_FORM: Mapping[str, Values] = {"form": ("free", ANY)}
_TEXT: Mapping[str, Values] = {**_FORM, "window": (0,), "window_prompt": ("",), "temperature": (0.0,)}
_EXEMPLARS: Mapping[str, Values] = {**_TEXT, "exemplars": ("own", ANY), "pair": ("1-0", ANY), "completions": ("auto", ANY)}
_OPEN: Mapping[str, Values] = {"max_tokens": (512, ANY)}
_PEOPLES = Such("human:N or human:seed=N", lambda value: str(value).startswith("human"))
_AGAIN = Such("1 or more", lambda value: isinstance(value, int) and value > 0)

PROTOCOLS: Mapping[str, Protocol] = {
    protocol.name: protocol
    for protocol in (
        Protocol(
            "react",
            "ReAct's notebook: two exemplars of the task's type, 49 lines with thoughts, unseen games, once",
            {**_PLAIN, "agent": ("react",), "split": ("valid_unseen",), "max_steps": (49,)},
            {**_EXEMPLARS, "max_tokens": (100,), "thoughts": ("turns",), "reflect": (False,)},
            seen=(
                "ysymyth/ReAct, alfworld.ipynb: the 134 games of eval_out_of_distribution, 49 lines a game, `think:` answered "
                "with OK., exemplars 1 and 0 of the type, temperature 0, 100 tokens a line, stop at the end of a line.",
                "Copies of its prompt file (sbhambr1/react_brittleness, prompts/alfworld_3prompts.json): react_TYPE_0 to 2, "
                "lines > command or > think: ... with their answers, `put X in/on Y`.",
                "ysymyth/ReAct, README: GPT-3 78.4, PaLM-540B 70.9 (in the paper the best of six prompts).",
            ),
            differs=(
                "Exemplars are ours unless exemplars names the released file; the sentences around them are ours.",
                "The notebook takes the type from the game's file; here it is read from the goal, which states it.",
                "A model without completions is asked as a chat; the card says how a model was asked.",
            ),
        ),
        Protocol(
            "reflexion",
            "Reflexion: ReAct's lines, and games that were lost again with the agent's own reflections",
            {
                **_PLAIN,
                "agent": ("react",),
                "split": ("valid_unseen",),
                "max_steps": (50, 49),
                "retries": (9, _AGAIN),
            },
            {**_EXEMPLARS, "pair": ("1-0",), "max_tokens": (100, 256), "thoughts": ("turns",), "reflect": (True,)},
            seen=(
                "noahshinn/reflexion, alfworld_runs/alfworld_trial.py at 878a144a, beside the logs of its trials: 50 lines a "
                "game, 100 tokens, text-davinci-002, exemplars 1 and 0; won games are not played again; at most the last "
                "three reflections are shown. Later versions (65001352): 49 lines, and 256 tokens in utils.py (851b4677).",
                "noahshinn/reflexion, alfworld_runs/run_reflexion.sh: 10 trials of 134 games with memory; its logs go up "
                "to 15.",
                "noahshinn/reflexion, alfworld_runs/generate_reflections.py: a reflection sees the lost game, thoughts among "
                "its lines, and the reflections before.",
            ),
            differs=(
                "There a game that ended counts as won, whether it was or not (issue 51 of ALFWorld: at its limit of steps a "
                "game ends too), so its figures may be too high; issue 19 of Reflexion has a rerun that was much lower. Here a "
                "game is won where ALFWorld says so.",
                "The words that ask for a reflection are ours, and without its two examples.",
                "There a line shorter than five letters is sampled again at a higher temperature, and a repeated one ends "
                "the game.",
            ),
        ),
        Protocol(
            "verl-agent",
            "verl-agent (GiGPO): admissible actions, the last two steps alone, 50 steps, seen games",
            {
                **_PLAIN,
                "agent": ("react",),
                "split": ("valid_seen", "valid_unseen"),
                "max_steps": (50,),
                "grant": (("admissible",),),
            },
            {
                **_FORM,
                "window": (2,),
                "window_prompt": ("", ANY),
                "max_tokens": (512,),
                "temperature": (0.4,),
                "exemplars": ("",),
                **dict.fromkeys(("pair", "thoughts", "completions"), (ANY,)),
                "reflect": (False,),
            },
            seen=(
                "langfengQ/verl-agent issues 44, 64, 155, 246: a history of two steps and eval_in_distribution are "
                "the defaults; means over three seeds at step 150, not maxima; each checkpoint tested several times.",
                "langfengQ/verl-agent issue 238: 128 games are drawn, a draw that moves the figure.",
                "langfengQ/DrMAS (the same authors), examples/gigpo_trainer/run_alfworld.sh: 50 steps, temperature 0.4, "
                "512 tokens; env_manager.py and prompts: goal, step, the last observations and actions, what is admissible "
                "but `help`.",
                "Forks of verl-agent (zhangyun04/verl-agent at 873d52cc), projection.py: the reply in small letters; what "
                "stands between <action> and </action>, else its last 30 letters, is played, and stands in the history.",
            ),
            differs=(
                "We could not see the repository's own files, only those of forks, issues and a sister repository.",
                "The prompt is in our words unless window_prompt names a copy of verl-agent's prompts/alfworld.py; a model "
                "trained on those words is measured with other words without it.",
                "All 140 games are played once, unless sample and repeat say otherwise.",
            ),
        ),
        Protocol(
            "agentbench",
            "AgentBench's householding: admissible actions listed each turn, 35 replies, its 50 unseen games",
            {
                **_PLAIN,
                "agent": ("react",),
                "split": ("valid_unseen",),
                "max_steps": (35,),
                "grant": (("admissible",),),
            },
            {**_EXEMPLARS, **_OPEN, "completions": ("off",), "thoughts": ("turns",), "reflect": (False,)},
            seen=(
                "THUDM/AgentBench, configs/tasks/alfworld.yaml: 35 rounds, split standard, prompts that plan first.",
                "THUDM/AgentBench, data/alfworld/standard.json: 50 games of valid_unseen, 9 or 8 of each type.",
                "THUDM/AgentBench, src/server/tasks/alfworld/task.py: a chat; each reply is a round; one example of the type, "
                "a list of available actions, of which only the last stays in the prompt; a game is lost at once by a reply "
                "without ACTION:, and from the fourth round on by the same reply three times.",
            ),
            games="agentbench.txt",
            differs=(
                "Two exemplars in place of one, in our form: a reply is a line, a thought or a command, while there it may be "
                "both. A thought alone takes a round here, and loses the game there.",
                "All lists of admissible actions stay in the prompt.",
                "An unlikely reply is not replaced by the nearest action (BLEU), and neither it nor a repetition ends the "
                "game.",
            ),
        ),
        Protocol(
            "stateact",
            "StateAct's script, for its ReAct row: two exemplars, thoughts free of charge, unseen games, greedy",
            {**_PLAIN, "agent": ("react",), "split": ("valid_unseen",), "max_steps": (50,)},
            {**_EXEMPLARS, **_OPEN, "pair": ("1-0",), "completions": ("off",), "thoughts": ("free",), "reflect": (False,)},
            seen=(
                "ai-nikolai/StateAct, alfworld_runs/README.md: 134 games, exemplars 1 and 0, corrected `put`, models as chats "
                "(VLLMChat); Qwen2.5-14B has 80.6 with StateAct's states and 74.6 as ReAct.",
                "ai-nikolai/StateAct, alfworld_runs/alfworld_run.py: the exemplars are a system message; a thought is answered "
                "without a step of the game; at most 100 replies a game, and five repetitions in a row end it.",
            ),
            differs=(
                "The agent StateAct itself, whose replies state goal, places and inventory, is not here.",
                "A game has 50 commands, there by ALFWorld's own limit; replies have no limit but eight thoughts in a row.",
                "Exemplars and task are one user message.",
            ),
        ),
        Protocol(
            "opex",
            "OPEx, table 2, on ALFWorld: unseen games, once, with or without rules",
            {
                **_PLAIN,
                "agent": ("opex", "reasoner-actor", "react"),
                "split": ("valid_unseen",),
                "max_steps": (50,),
                "rules": (None, ANY),
            },
            {
                **_FORM,
                **dict.fromkeys(("planner", "observer", "look_around", "explore", "on_subgoal"), (True,)),
                "search": ("llm",),
                "temperature": (0.0,),
                "reflect": (False,),
                "window": (0,),
                "window_prompt": ("",),
                "exemplars": ("", ANY),
                **dict.fromkeys(("pair", "thoughts", "completions", "max_tokens"), (ANY,)),
                **dict.fromkeys(("examples", "pool", "choose", "embedder", "shots"), (ANY,)),
                **dict.fromkeys(("on_hint", "stuck_after", "revisions", "tries"), (ANY,)),
                # These say nothing in a game of text.
                **dict.fromkeys(("seeing", "votes", "traversable", "corners", "replay", "adjust", "peek"), (ANY,)),
            },
            seen=("OPEx, section 4: 134 unseen games, following ReAct; success rate; GPT-4 in table 2.",),
            differs=(
                "The paper does not say how many steps a game has on ALFWorld, nor the temperature; 50 is the game's own "
                "limit.",
                "It does not list its rules (OPEx-L, OPEx-H); we found no code.",
            ),
        ),
        Protocol(
            "pet-human",
            "PET, table 1, with people's goals: seen and unseen games, permissible actions",
            {
                **_PLAIN,
                "agent": ("pet", "action-attention"),
                "goals": ("human", _PEOPLES),
                "split": ("valid_unseen", "valid_seen"),
                "max_steps": (50,),
                "grant": (("admissible",),),
            },
            {
                **_FORM,
                **dict.fromkeys(("plan", "eliminate", "track"), (True,)),
                "judged": ("subtask",),
                "temperature": (0.0,),
                "acting": ("action-attention", ANY),
                **dict.fromkeys(("examples", "choose", "embedder", "shots", "max_tokens"), (ANY,)),
                **dict.fromkeys(("threshold", "thresholds", "scores", "again", "weights"), (ANY,)),
                **dict.fromkeys(("on_subgoal", "on_hint", "stuck_after", "revisions"), (ANY,)),
            },
            seen=(
                "PET, sections 3.4, 4.1 and table 1: 140 seen and 134 unseen games, people's goals, an actor that scores "
                "the permissible actions; completion rate.",
            ),
            differs=(
                "The paper says neither how many steps a game has nor which of a game's three annotators is read; no code "
                "was to be seen.",
                "PET's acting agent never saw people's goals; the network that ships learned those of train, of which some "
                "stand in valid_seen letter for letter. Its card has the figures of one that did not.",
                "Its acting agent is Action Attention; with acting=react the model itself chooses among the permissible "
                "actions.",
            ),
        ),
    )
}
"""The protocols by name."""


def find_protocol(name: str, place: str) -> Protocol:
    """The protocol called ``name``, which was given at ``place``. Raises ``ConfigurationError``."""
    if name not in PROTOCOLS:
        hint = nearest(name, tuple(PROTOCOLS)) or f" Known: {', '.join(PROTOCOLS)}."
        raise ConfigurationError(f"{place}: there is no protocol {shown(name)}.{hint}")
    return PROTOCOLS[name]


def _refuse_other(protocol: Protocol, key: str, value: object, values: Values, place: str) -> None:
    if _chosen(values, value) or _plain(value) in map(_plain, values):
        return
    allowed = " or ".join(said(each) for each in values)
    raise ConfigurationError(
        f"{place}: {said(value)} contradicts the protocol {protocol.name}, which has {key} {allowed}. Leave one of them out."
    )


def _chosen(values: Values, value: object) -> bool:
    return any(isinstance(each, Such) and each.holds(value) for each in values)


def _plain(value: object) -> object:
    return frozenset(cast("tuple[object, ...]", value)) if isinstance(value, tuple | list) else value


def said(value: object) -> str:
    """A value as it is written in a command."""
    match value:
        case None | () | "":
            return "none"
        case tuple() | list():
            return ", ".join(map(str, cast("tuple[object, ...]", value)))
        case Such(told=told):
            return told
        case bool():
            return "on" if value else "off"
        case _:
            return str(value)
