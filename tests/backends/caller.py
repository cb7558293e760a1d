"""A player that calls tools: the expert, told only what the conversation with its tool calls tells."""

from __future__ import annotations

import json
import re
from itertools import pairwise
from typing import Any

from starlette.responses import JSONResponse, Response

from housequest.agent.integrations.tools import CommandTools
from housequest.worlds.alfworld.expert import make_expert
from housequest.worlds.base import Observation, Transition
from tests.backends.server import Policy, Recorded, completion

_BETWEEN = re.compile(r" (?:from|to|with) ")
_GOAL = "Your task is to: "


class Commands(CommandTools):
    """Says the command that a tool means."""

    def _play(self, command: str) -> str:
        return command


def tool_of(command: str) -> tuple[str, list[str]]:
    """The tool that plays ``command``, and its arguments in their order."""
    verb, _, rest = command.replace("go to", "go_to").replace("move", "put").partition(" ")
    return verb, _BETWEEN.split(rest) if rest else []


def told(messages: list[dict[str, Any]]) -> tuple[str, list[Transition]]:
    """The opening, and the calls with their answers."""
    opening = next(message["content"] for message in messages if message["role"] == "user")
    played: list[Transition] = []
    for asked, answer in pairwise(messages):
        if asked.get("tool_calls") and answer["role"] == "tool":
            function = asked["tool_calls"][0]["function"]
            command = getattr(Commands(), function["name"].rpartition("__")[2])(**json.loads(function["arguments"]))
            text = answer["content"] if isinstance(answer["content"], str) else answer["content"][0]["text"]
            played.append(Transition(command, Observation(text, accepted=text != "Nothing happens.")))
    return opening, played


async def calling(recorded: Recorded, policy: Policy) -> Response:
    """The expert's next command as a call of the tool that is offered for it; a word of farewell when the game is over."""
    del policy
    opening, played = told(recorded.body["messages"])
    if played and ("game is over" in str(played[-1].observation) or "task is done" in str(played[-1].observation)):
        return sent(completion("Done.", recorded), recorded)
    expert, first = make_expert(), Observation(opening)
    memory = expert.begin(opening.rpartition(_GOAL)[2].splitlines()[0].rstrip("."), first)
    for transition in played:
        # What it would have decided is what it did.
        _, _, memory = expert.decide(memory)
        memory = expert.observe(memory, transition.command, transition.observation)
    command, _, _ = expert.decide(memory)
    verb, values = tool_of(command or "look")
    offered = next(tool["function"] for tool in recorded.body["tools"] if tool["function"]["name"].rpartition("__")[2] == verb)
    arguments = dict(zip(offered["parameters"]["properties"], values, strict=True))
    function = {"name": offered["name"], "arguments": json.dumps(arguments)}
    call = {"id": f"call-{len(played)}", "type": "function", "function": function}
    return sent(completion(None, recorded, finish="tool_calls", tool_calls=[call]), recorded)


def sent(whole: dict[str, Any], recorded: Recorded) -> Response:
    """A completion at once, or as a stream of one piece where that was asked for."""
    if not recorded.body.get("stream"):
        return JSONResponse(whole)
    (choice,) = whole["choices"]
    said = choice["message"]
    calls = [{"index": place, **call} for place, call in enumerate(said.get("tool_calls", ()))]
    piece = {"index": 0, "delta": {**said, "tool_calls": calls} if calls else said, "finish_reason": None}
    last = {"index": 0, "delta": {}, "finish_reason": choice["finish_reason"]}
    same = {**whole, "object": "chat.completion.chunk"}
    lines = [json.dumps(each) for each in ({**same, "choices": [piece], "usage": None}, {**same, "choices": [last]})]
    return Response("".join(f"data: {line}\n\n" for line in [*lines, "[DONE]"]), media_type="text/event-stream")
