"""What real servers behind an OpenAI-compatible address do, by public threads of 2025 and 2026: refusals, thinking, odd bodies.

Each `Dialect` is a behaviour of `tests.backends.server`, as strict as its original: it reads what was sent, refuses what the
original refuses in the original's shape, and answers what a policy says in the original's shape, streamed or whole. The names
say what is odd, not who does it; the docstring of each says where it was seen.
"""

from __future__ import annotations

import gzip
import json
from collections.abc import AsyncIterator, Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from starlette.responses import JSONResponse, Response, StreamingResponse

from tests.backends.server import Policy, Recorded

Body = dict[str, Any]

OFTEN = frozenset(
    {"model", "messages", "max_tokens", "temperature", "top_p", "stop", "stream", "stream_options", "response_format", "n"}
)
"""Parameters that every server here takes unless it says otherwise."""

_WORDS_OF_THOUGHT = 700
"""How long a thinking model thinks before it says a word; words count as tokens."""


@dataclass(frozen=True, slots=True)
class Said:
    """What a model says to one request: its thinking, its text, and why it stopped."""

    text: str
    thinking: str = ""
    finish: str = "stop"
    prompt_tokens: int = 1


@dataclass
class Dialect:
    """One server's ways.

    ``refuse`` looks at a request and answers it with an error, or None; ``speak`` shapes what the model said into a message or,
    streamed, into deltas; ``think`` decides what a model says to a prompt within the request's limit.
    """

    name: str
    refuse: Callable[[Recorded], Response | None] = lambda _: None
    think: Callable[[Recorded, str], Said] | None = None
    speak: Callable[[Said], Sequence[Mapping[str, Any]]] | None = None
    frame: Callable[[str], bytes] | None = None
    """How one event of a stream is written."""
    begins: bytes = b""
    """What a stream begins with."""
    whole: Callable[[Body], Response] = JSONResponse
    """How a whole reply is sent."""
    unasked: bool = False
    """Whether it streams to those, too, who did not ask for that."""
    kind: str = "text/event-stream"
    """The type of content that a stream is said to be."""
    count: Callable[[Body], Body] = lambda usage: usage
    """How it counts tokens."""
    asked: list[Body] = field(default_factory=list)
    context: int | None = None
    """Tokens of a prompt that are read, the last ones; those before are dropped without a word. Seen at Ollama."""
    knows: frozenset[str] = frozenset()
    """System messages: a model reads one as it stands, wherever its server wants it."""

    async def __call__(self, recorded: Recorded, policy: Policy) -> Response:
        """Answer one request."""
        self.asked.append(recorded.body)
        if (refusal := self.refuse(recorded)) is not None:
            return refusal
        messages = messages_of(recorded, self.knows)
        if self.context is not None and len(messages) == 1:
            messages = [{**messages[0], "content": " ".join(messages[0]["content"].split()[-self.context :])}]
        text = policy(messages)
        for word in recorded.body.get("stop") or ():
            text = text.split(word)[0]
        said = self.think(recorded, text) if self.think else within(limit_of(recorded.body), Said(text))
        deltas = list(self.speak(said)) if self.speak else plain(said)
        usage = usage_of(recorded, said)
        if self.context is not None:
            usage["prompt_tokens"] = min(usage["prompt_tokens"], self.context)
        usage = self.count(usage)
        if recorded.body.get("stream") or self.unasked:
            return StreamingResponse(self._events(recorded, deltas, said, usage), media_type=self.kind)
        message: dict[str, Any] = {"role": "assistant", "content": None}
        for delta in deltas:
            for key, value in delta.items():
                message[key] = value if message.get(key) is None else message[key] + value
        choice = {"index": 0, "message": message, "finish_reason": said.finish}
        return self.whole(_head(recorded, "chat.completion") | {"choices": [choice], "usage": usage})

    async def _events(
        self, recorded: Recorded, deltas: Sequence[Mapping[str, Any]], said: Said, usage: Body
    ) -> AsyncIterator[bytes]:
        frame = self.frame or (lambda data: f"data: {data}\n\n".encode())
        if self.begins:
            yield self.begins
        head = _head(recorded, "chat.completion.chunk")
        for delta in ({"role": "assistant", "content": ""}, *deltas, None):
            ends = delta is None
            choice = {"index": 0, "delta": delta or {}, "finish_reason": said.finish if ends else None}
            yield frame(json.dumps(head | {"choices": [choice]}))
        if (recorded.body.get("stream_options") or {}).get("include_usage"):
            yield frame(json.dumps(head | {"choices": [], "usage": usage}))
        yield frame("[DONE]")


def messages_of(recorded: Recorded, known: frozenset[str]) -> list[dict[str, str]]:
    """The conversation as a policy reads it: a ``known`` system message that was folded comes apart again."""
    first, *others = recorded.messages
    for system in known:
        if first["content"].startswith(f"{system}\n\n"):
            rest = first["content"].removeprefix(f"{system}\n\n")
            return [{"role": "system", "content": system}, {"role": "user", "content": rest}, *others]
    return recorded.messages


def limit_of(body: Body) -> int | None:
    """The most tokens that a reply may have, by either name."""
    return body.get("max_completion_tokens") or body.get("max_tokens")


def within(limit: int | None, said: Said) -> Said:
    """``said`` cut at ``limit`` tokens, of which thinking takes its share first."""
    if limit is None:
        return said
    thought, words = said.thinking.split(), said.text.split()
    if len(thought) >= limit:
        return Said("", " ".join(thought[:limit]), "length", said.prompt_tokens)
    if len(thought) + len(words) > limit:
        return Said(" ".join(words[: limit - len(thought)]), said.thinking, "length", said.prompt_tokens)
    return said


def usage_of(recorded: Recorded, said: Said) -> Body:
    """Tokens as servers count them: thinking is part of the completion."""
    prompt, thought = len(recorded.text.split()), len(said.thinking.split())
    used = thought + len(said.text.split())
    usage: Body = {"prompt_tokens": prompt, "completion_tokens": used, "total_tokens": prompt + used}
    return usage | ({"completion_tokens_details": {"reasoning_tokens": thought}} if thought else {})


def plain(said: Said) -> list[Body]:
    """The text in two pieces."""
    half = len(said.text) // 2
    return [{"content": said.text[:half]}, {"content": said.text[half:]}] if said.text else []


def _head(recorded: Recorded, kind: str) -> Body:
    return {"id": "chatcmpl-1", "object": kind, "created": 1_700_000_000, "model": recorded.body.get("model")}


# Refusals of a parameter.


def only(taken: frozenset[str], error: Callable[[list[str], Body], Response]) -> Callable[[Recorded], Response | None]:
    """Refuse any parameter that is not in ``taken``, all at once, as ``error`` words it."""

    def refuse(recorded: Recorded) -> Response | None:
        extra = [name for name in recorded.body if name not in taken]
        return error(extra, recorded.body) if extra else None

    return refuse


def forbidden_extra(shape: str) -> Callable[[list[str], Body], Response]:
    """422 with pydantic's list: bare, under ``message``, or as text in it. Seen at Mistral and at Azure's models of it."""

    def error(extra: list[str], body: Body) -> Response:
        detail = [
            {"type": "extra_forbidden", "loc": ["body", name], "msg": "Extra inputs are not permitted", "input": body[name]}
            for name in extra
        ]
        told: Body = {"detail": detail}
        if shape == "under message":
            told = {"object": "error", "message": told, "type": "invalid_request_error", "param": None, "code": None}
        if shape == "text":
            told = {
                "object": "error",
                "message": json.dumps(told),
                "type": "internal_error_proxy",
                "param": None,
                "code": "1000",
            }
        return JSONResponse(told, 422)

    return error


def unknown_name(extra: list[str], body: Body) -> Response:
    """400 whose body is an array. Seen at Gemini's compatible address."""
    said = [f'Invalid JSON payload received. Unknown name "{name}": Cannot find field.' for name in extra]
    violations = {
        "@type": "type.googleapis.com/google.rpc.BadRequest",
        "fieldViolations": [{"description": each} for each in said],
    }
    error = {"code": 400, "message": "\n".join(said), "status": "INVALID_ARGUMENT", "details": [violations]}
    return JSONResponse([{"error": error}], 400)


def proxied(extra: list[str], body: Body) -> Response:
    """A proxy's words, with advice for its owner. Seen at LiteLLM."""
    said = (
        f"litellm.UnsupportedParamsError: bedrock does not support parameters: {extra}, for model={body['model']}. To drop "
        "these, set `litellm.drop_params=True` or for proxy:\n\n`litellm_settings:\n drop_params: true`\n. \n If you want to "
        f"use these params dynamically send allowed_openai_params={extra} in your request.. Received Model Group=m\n"
        "Available Model Group Fallbacks=None"
    )
    return JSONResponse({"error": {"message": said, "type": "None", "param": "None", "code": "400"}}, 400)


def _error(message: str, status: int = 400, **more: Any) -> Response:
    return JSONResponse({"error": {"message": message, "type": "invalid_request_error", **more}}, status)


def one_temperature(recorded: Recorded) -> Response | None:
    """Nothing is quoted and no parameter named apart. Seen at Kimi."""
    if recorded.body.get("temperature", 1) != 1:
        return _error("invalid temperature: only 1 is allowed for this model")
    return None


def one_temperature_by_proxy(recorded: Recorded) -> Response | None:
    """The parameter with its value, in a proxy's words. Seen at LiteLLM before models that think."""
    given = recorded.body.get("temperature", 1)
    if given == 1:
        return None
    said = (
        f"litellm.UnsupportedParamsError: gpt-5 models don't support temperature={given}. Only temperature=1 is supported. To "
        "drop unsupported params set `litellm.drop_params = True`. Received Model Group=m\nAvailable Model Group Fallbacks=None"
    )
    return _error(said, param=None, code="400")


def no_temperature(recorded: Recorded) -> Response | None:
    """The parameter in backquotes, the error one level down. Seen at Anthropic's compatible address."""
    if "temperature" not in recorded.body:
        return None
    error = {"type": "invalid_request_error", "message": "`temperature` is deprecated for this model."}
    return JSONResponse({"type": "error", "error": error, "request_id": "req_1"}, 400)


def renamed_limit(recorded: Recorded) -> Response | None:
    """One name of the limit is refused and the other named; then the temperature. Seen at OpenAI's models that think."""
    if "max_tokens" in recorded.body:
        said = "Unsupported parameter: 'max_tokens' is not supported with this model. Use 'max_completion_tokens' instead."
        return _error(said, param="max_tokens", code="unsupported_parameter")
    given = recorded.body.get("temperature", 1)
    if given != 1:
        said = f"Unsupported value: 'temperature' does not support {given} with this model. Only the default (1) value is"
        return _error(f"{said} supported.", param="temperature", code="unsupported_value")
    if "stop" in recorded.body:
        said = "Unsupported parameter: 'stop' is not supported with this model."
        return _error(said, param="stop", code="unsupported_parameter")
    return None


def nameless(recorded: Recorded) -> Response | None:
    """A refusal that names nothing: all that is not needed has to go. Seen at gateways of companies."""
    if set(recorded.body) - {"model", "messages", "max_tokens", "stream"}:
        return JSONResponse({"message": "Bad Request"}, 400)
    return None


# Refusals of messages.


def no_system_role(code: int, shape: Callable[[str], Body]) -> Callable[[Recorded], Response | None]:
    """A chat template that raises where a system message comes, or where roles do not take turns. Seen with Gemma."""

    def refuse(recorded: Recorded) -> Response | None:
        roles = [message["role"] for message in recorded.body.get("messages", ())]
        if roles[:1] == ["system"]:
            return JSONResponse(shape("System role not supported"), code)
        if any(role != ("user", "assistant")[place % 2] for place, role in enumerate(roles)):
            return JSONResponse(shape("Conversation roles must alternate user/assistant/user/assistant/..."), code)
        return None

    return refuse


def turns_alone(recorded: Recorded) -> Response | None:
    """No system role, told as a fault of turns. Seen with templates of Mistral's at vLLM."""
    for place, message in enumerate(recorded.body.get("messages", ())):
        if message["role"] != ("user", "assistant")[place % 2]:
            said = "Conversation roles must alternate user/assistant/user/assistant/..."
            return JSONResponse({"object": "error", "message": said, "type": "BadRequestError", "code": 400}, 400)
    return None


def without_system(status: int, body: Body) -> Callable[[Recorded], Response | None]:
    """Any role but user and assistant is refused, in words that do not name it. Seen at LM Studio, Bedrock, Z.AI and others."""

    def refuse(recorded: Recorded) -> Response | None:
        roles = {message["role"] for message in recorded.body.get("messages", ())}
        return JSONResponse(body, status) if roles - {"user", "assistant"} else None

    return refuse


def streams_alone(recorded: Recorded) -> Response | None:
    """Whole replies are refused. Seen with QwQ and Qwen at DashScope."""
    if recorded.body.get("stream"):
        return None
    said = "This model only support stream mode, please enable the stream parameter to access the model. "
    error = {"code": "invalid_parameter_error", "param": None, "message": said, "type": "invalid_request_error"}
    return JSONResponse({"error": error, "request_id": "1"}, 400)


def positive_temperature(recorded: Recorded) -> Response | None:
    """Greedy is no temperature. Seen at text-generation-inference."""
    if recorded.body.get("temperature", 1) > 0:
        return None
    said = "Input validation error: `temperature` must be strictly positive"
    return JSONResponse({"error": said, "error_type": "validation"}, 422)


def temperature_in_chinese(recorded: Recorded) -> Response | None:
    """The name without a blank around it. Seen at Z.AI."""
    if 0 < recorded.body.get("temperature", 0.5) < 1:
        return None
    said = "temperature\u53c2\u6570\u975e\u6cd5\u3002\u53d6\u503c\u8303\u56f4(0,1)\u3002"
    return JSONResponse({"error": {"code": "1210", "message": said}}, 400)


def repeating(recorded: Recorded) -> Response | None:
    """The seed is refused, and all that was sent is repeated. Seen at gateways in Python."""
    if "seed" not in recorded.body:
        return None
    sent = {name: value for name, value in recorded.body.items() if name != "messages"}
    return JSONResponse({"detail": f"ValidationError for request {sent!r}: Extra inputs are not permitted: 'seed'"}, 422)


def under_another_name(recorded: Recorded) -> Response | None:
    """The name that the model's own interface has. Seen at Bedrock."""
    if "stop" not in recorded.body:
        return None
    said = (
        "Malformed input request: #: extraneous key [stopSequences] is not permitted, please reformat your input and try again."
    )
    return JSONResponse({"message": said}, 400)


def nested_text(recorded: Recorded) -> Response | None:
    """JSON in JSON in JSON. Seen at gateways of functions."""
    if "temperature" not in recorded.body:
        return None
    inner = {"error": {"message": "Unsupported parameter: 'temperature'", "param": "temperature"}}
    return JSONResponse({"errorMessage": json.dumps({"statusCode": 400, "body": json.dumps(inner)})}, 400)


def no_more_than(most: int, error: Callable[[int, str], Response]) -> Callable[[Recorded], Response | None]:
    """A limit of a reply above ``most`` is refused."""

    def refuse(recorded: Recorded) -> Response | None:
        name = "max_tokens" if "max_tokens" in recorded.body else "max_completion_tokens"
        given = recorded.body.get(name) or 0
        return error(given, name) if given > most else None

    return refuse


def unsaid_bound(given: int, name: str) -> Response:
    """Numbers, none of which is the bound. Seen at LiteLLM."""
    said = (
        "litellm.BadRequestError: OpenAIException - Error code: 400 - {'error': {'message': 'max_tokens is too large for this "
        "model.', 'type': 'invalid_request_error'}}. Received Model Group=claude-3-haiku"
    )
    return _error(said, param=None)


def bound_of_context(given: int, name: str) -> Response:
    """The bound is the context's, and no prompt leaves that much. Seen at vLLM."""
    said = f"{name}={given} cannot be greater than max_model_len=2048. Please request fewer output tokens."
    return _error(f"{said} (parameter={name}, value={given})", param=name, code=400)


def beyond_the_context(recorded: Recorded) -> Response | None:
    """The context is too short for prompt and limit, in words that name neither. Seen at SambaNova."""
    most = limit_of(recorded.body) or 0
    said = f"Requested generation length {most} is not possible! The maximum supported sequence length is just 8192!"
    return _error(said) if most + len(recorded.text.split()) > 8_192 else None


class OnceAnError:
    """One call fails by no fault of its own, in words that sound like a refusal."""

    def __init__(self, error: Callable[[Body], Response]) -> None:
        self._error, self._count = error, 0

    def __call__(self, recorded: Recorded) -> Response | None:
        self._count += 1
        return self._error(recorded.body) if self._count == 3 else None


def internal_error(body: Body) -> Response:
    """Seen at gateways."""
    error = {"message": "Internal system error. Message id: 7f3a-21, please retry.", "type": "server_error", "code": 500}
    return JSONResponse({"error": error}, 500)


def memory_error(body: Body) -> Response:
    """What was sent is repeated. Seen at servers in Python."""
    sent = {name: value for name, value in body.items() if name != "messages"}
    return JSONResponse({"detail": f"CUDA out of memory while processing request {sent!r}"}, 500)


def thinking_wanted_back(recorded: Recorded) -> Response | None:
    """Each reply must come back with its thinking. Seen at DeepSeek, at times."""
    for place, message in enumerate(recorded.body.get("messages", ())):
        if message["role"] == "assistant" and not message.get("reasoning_content"):
            said = (
                f"Missing `reasoning_content` field in the assistant message at message index {place}. For more information, "
                "please refer to https://api-docs.deepseek.com/guides/thinking_mode#tool-calls"
            )
            return _error(said, param=None, code="invalid_request_error")
    return None


def header_wanted(name: str, value: str) -> Callable[[Recorded], Response | None]:
    """401 without a header. Seen at gateways of companies, which also take the key in a header of their own."""

    def refuse(recorded: Recorded) -> Response | None:
        if recorded.headers.get(name) == value:
            return None
        return JSONResponse({"statusCode": 401, "message": f"Access denied due to missing header {name}."}, 401)

    return refuse


def refused_in_a_200(recorded: Recorded) -> Response | None:
    """A refusal that a gateway passes on once it has begun to answer, without its number. Seen at proxies that stream."""
    if "temperature" not in recorded.body:
        return None
    said = "Unsupported parameter: 'temperature' is not supported with this model."
    return _inside(recorded, {"error": {"message": said, "type": "invalid_request_error", "code": "unsupported_parameter"}})


def positive_temperature_in_a_200(recorded: Recorded) -> Response | None:
    """Greedy is no temperature; the error is a text, in a stream inside a 200. Seen at Text Generation Inference."""
    if recorded.body.get("temperature", 1) > 0:
        return None
    error = {"error": "Input validation error: `temperature` must be strictly positive", "error_type": "validation"}
    return _inside(recorded, error) if recorded.body.get("stream") else JSONResponse(error, 422)


def _inside(recorded: Recorded, body: Body) -> Response:
    if recorded.body.get("stream"):
        return Response(f": OPENROUTER PROCESSING\n\ndata: {json.dumps(body)}\n\n", media_type="text/event-stream")
    return JSONResponse(body)


class FailsAtTimes:
    """Each ``every``-th request fails inside a 200. Seen at OpenRouter."""

    def __init__(self, body: Body, every: int = 3) -> None:
        self._body, self._every, self._count = body, every, 0

    def __call__(self, recorded: Recorded) -> Response | None:
        self._count += 1
        return None if self._count % self._every else _inside(recorded, self._body)


BUSY_IN_200: Body = {
    "id": None,
    "choices": None,
    "created": None,
    "model": None,
    "object": None,
    "usage": None,
    "error": {
        "message": "Provider returned error",
        "code": 429,
        "metadata": {"raw": "Too Many Requests", "provider_name": "P"},
    },
    "user_id": "user_1",
}
NO_CHOICES: Body = {"id": "gen-1", "object": "chat.completion", "created": 1, "model": "m", "choices": []}
BUSY_BESIDE: Body = {"id": "0", "choices": None, "base_resp": {"status_code": 1002, "status_msg": "rate limit"}}
"""Seen at MiniMax."""
BUSY_AT_THE_TOP: Body = {"code": 429, "message": "Request was rejected due to rate limiting.", "data": None}
"""Seen at SiliconFlow, and like it at gateways."""
FLAT_ERROR: Body = {"object": "error", "message": "Overloaded", "type": "InternalServerError", "param": None, "code": 503}
"""Seen at older versions of vLLM, in streams."""


def ended_by(word: str) -> Body:
    """A reply that its server gave up. Seen at OpenRouter, and in other words at DeepSeek, Z.AI and SGLang."""
    choice = {"index": 0, "message": {"role": "assistant", "content": ""}, "delta": {"content": "Action: look"}}
    error = {"error": {"code": 502, "message": "Upstream error from P: internal error"}} if word == "error" else {}
    return {"id": "gen-1", "object": "chat.completion", "choices": [{**choice, "finish_reason": word, **error}]}


# Thinking.


def thinking(recorded: Recorded, text: str) -> Said:
    """A model that thinks for long before each reply, and whose limit counts that."""
    return within(limit_of(recorded.body), Said(text, "Hmm. " * (_WORDS_OF_THOUGHT - 1) + "So."))


def thinking_unless_off(recorded: Recorded, text: str) -> Said:
    """A model that thinks for long unless its template is told not to. Seen with Qwen on vLLM and SGLang."""
    off = (recorded.body.get("chat_template_kwargs") or {}).get("enable_thinking") is False
    return within(limit_of(recorded.body), Said(text)) if off else thinking(recorded, text)


def thinking_a_little(recorded: Recorded, text: str) -> Said:
    return within(limit_of(recorded.body), Said(text, "The task names a place. So I go on."))


def cut_in_other_words(word: str) -> Callable[[Recorded, str], Said]:
    """A reply that its limit cut off ends in a word of the server behind a gateway. Seen at gateways to Anthropic, Gemini and
    Mistral; as ``stop``, at servers that know no other word."""

    def think(recorded: Recorded, text: str) -> Said:
        said = thinking(recorded, text)
        return replace(said, finish=word) if said.finish == "length" else said

    return think


def beside(key: str) -> Callable[[Said], Sequence[Body]]:
    """Thinking in a field of its own: ``reasoning_content`` (DeepSeek, vLLM, SGLang), ``reasoning`` (OpenRouter, Ollama)."""

    def speak(said: Said) -> Sequence[Body]:
        return [*([{key: said.thinking}] if said.thinking else []), *plain(said)]

    return speak


def in_tags(said: Said) -> Sequence[Body]:
    """Thinking in the text. Seen wherever no parser of a model's thinking is turned on."""
    thought = f"<think>\n{said.thinking}\n</think>\n\n" if said.thinking else ""
    return plain(Said(thought + said.text if said.text or not thought else f"<think>\n{said.thinking}"))


def in_marks(begun: str, over: str) -> Callable[[Said], Sequence[Body]]:
    """Thinking in the text in other marks, a command in its midst that is none of the reply's.

    Seen with Magistral (``[THINK]``), Seed-OSS, Kimi (``◁think▷``), OpenThinker and, with its channels, gpt-oss.
    """
    return lambda said: plain(Said(f"{begun}{said.thinking} Perhaps\nAction: look\nBut no.{over}{said.text}"))


def in_parts(said: Said) -> Sequence[Body]:
    """Content as a list of parts, thinking among them, the text in two. Seen at Mistral's models that think."""
    half = len(said.text) // 2
    thought = {"type": "thinking", "thinking": [{"type": "text", "text": said.thinking}], "closed": True}
    texts = [{"type": "text", "text": each} for each in (said.text[:half], said.text[half:]) if each]
    return [{"content": [thought]}, *({"content": [each]} for each in texts)]


def as_thinking(said: Said) -> Sequence[Body]:
    """The answer where thinking belongs, and an empty text. Seen at LM Studio, and at vLLM with a wrong parser."""
    return [{"content": "", "reasoning_content": said.text}]


# Bodies.


def ended_as_a_stream(body: Body) -> Response:
    """A whole reply that ends as a stream does, and says that it is one. Seen at gateways before servers that stream."""
    return Response(f"{json.dumps(body)}\n\ndata: [DONE]\n\n", media_type="text/event-stream")


def kept_alive(body: Body) -> Response:
    """Blank lines until the reply is there. Seen at OpenRouter and DeepSeek."""
    return Response(f"\n         \n\n         \n{json.dumps(body)}", media_type="application/json")


def compressed(body: Body) -> Response:
    """A compressed body, whatever was asked for. Seen behind content delivery networks."""
    content = gzip.compress(json.dumps(body).encode())
    return Response(content, media_type="application/json", headers={"content-encoding": "gzip"})


def thinking_beside_the_count(usage: Body) -> Body:
    """Thinking is in the total alone. Seen at xAI, and without the details at Gemini's compatible address."""
    thought = usage.get("completion_tokens_details", {}).get("reasoning_tokens", 0)
    return usage | {"completion_tokens": usage["completion_tokens"] - thought}


def nothing_counted(usage: Body) -> Body:
    """Zeros for what nobody counts. Seen at gateways, for streams above all."""
    return dict.fromkeys(usage, 0)


# Streams.


def crs(data: str) -> bytes:
    """Lines that end in CR alone, which the standard allows."""
    return f"data: {data}\r\r".encode()


def several_lines(data: str) -> bytes:
    """No blank after the colon, other fields beside it, and data over two lines where JSON has a blank to break at."""
    first, comma, rest = data.partition(", ")
    return f"event: message\nid: 1\ndata:{first}{comma.strip()}\n{f'data:{rest}' if rest else 'retry: 10'}\n\n".encode()


def two_choices(data: str) -> bytes:
    """A second choice between the pieces of the first."""
    if not data.startswith("{"):
        return f"data: {data}\n\n".encode()
    event = json.loads(data)
    other = event | {"choices": [{"index": 1, "delta": {"content": "another choice "}, "finish_reason": None}]}
    return f"data: {json.dumps(other)}\n\ndata: {data}\n\n".encode()


def dialects() -> dict[str, Dialect]:
    """One of each, with nothing asked yet."""
    extra = OFTEN | {"random_seed"}
    each = [
        Dialect("extra forbidden, bare", only(extra, forbidden_extra("bare"))),
        Dialect("extra forbidden, under message", only(extra, forbidden_extra("under message"))),
        Dialect("extra forbidden, as text", only(extra, forbidden_extra("text"))),
        Dialect("unknown names in an array", only(OFTEN | {"max_completion_tokens"}, unknown_name)),
        Dialect("parameters refused by a proxy", only(OFTEN - {"stop"}, proxied)),
        Dialect("one temperature", one_temperature),
        Dialect("one temperature, by a proxy", one_temperature_by_proxy),
        Dialect("no temperature", no_temperature),
        Dialect("the limit has another name", renamed_limit),
        Dialect("nothing is named", nameless),
        Dialect("no system role, 400", no_system_role(400, lambda said: {"object": "error", "message": said, "code": 400})),
        Dialect(
            "no system role, 500",
            no_system_role(500, lambda said: {"error": {"code": 500, "message": f"Jinja Exception: {said}"}}),
        ),
        Dialect("no system role, as turns", turns_alone),
        Dialect("two roles", without_system(400, {"message": "Only user and assistant roles are supported!"})),
        Dialect(
            "the user first",
            without_system(400, {"message": "A conversation must start with a user message. Try again with one that does."}),
        ),
        Dialect(
            "a role of a list",
            without_system(
                400, {"errors": [{"loc": ["body", "messages", 0, "role"], "msg": "Input should be 'user' or 'assistant'"}]}
            ),
        ),
        Dialect(
            "no system role, in Chinese",
            without_system(400, {"error": {"code": "1214", "message": "\u4e0d\u652f\u6301system\u89d2\u8272"}}),
        ),
        Dialect("streams alone", streams_alone),
        Dialect("a positive temperature", positive_temperature),
        Dialect("a temperature in Chinese", temperature_in_chinese),
        Dialect("what was sent is repeated", repeating),
        Dialect("another name for stop", under_another_name),
        Dialect("a refusal in text in text", nested_text),
        Dialect("an unsaid bound", no_more_than(500, unsaid_bound)),
        Dialect("an unsaid context", beyond_the_context, thinking, beside("reasoning_content")),
        Dialect("a bound of the context", no_more_than(2_048, bound_of_context), thinking, beside("reasoning_content")),
        Dialect("an error of the system", OnceAnError(internal_error)),
        Dialect("an error that repeats what was sent", OnceAnError(memory_error)),
        Dialect("thinking takes the limit", think=thinking, speak=beside("reasoning_content")),
        Dialect("thinking under another name", think=thinking, speak=beside("reasoning")),
        Dialect("thinking until turned off", think=thinking_unless_off, speak=beside("reasoning_content")),
        Dialect("thinking in tags", think=thinking, speak=in_tags),
        *(
            Dialect(f"the limit in other words, {word}", think=cut_in_other_words(word), speak=beside("reasoning_content"))
            for word in ("max_tokens", "MAX_TOKENS", "model_length", "stop")
        ),
        *(
            Dialect(f"thinking in other marks, {marks[0]}", think=thinking_a_little, speak=in_marks(*marks))
            for marks in (
                ("[THINK]", "[/THINK]"),
                ("<seed:think>", "</seed:think>"),
                ("◁think▷", "◁/think▷"),
                *(("<|channel>thought\n", "\n<channel|>"), ("<longcat_think>", "</longcat_think>")),
                ("<|begin_of_thought|>", "<|end_of_thought|>\n\n"),
                ("<|channel|>analysis<|message|>", "<|end|><|start|>assistant<|channel|>final<|message|>"),
            )
        ),
        Dialect(
            "thinking beside the count", think=thinking, speak=beside("reasoning_content"), count=thinking_beside_the_count
        ),
        Dialect("nothing counted", count=nothing_counted),
        Dialect("content in parts", think=thinking_a_little, speak=in_parts),
        Dialect("the answer as thinking", speak=as_thinking),
        Dialect("thinking wanted back", thinking_wanted_back, thinking_a_little, beside("reasoning_content")),
        Dialect("busy in a 200", FailsAtTimes(BUSY_IN_200)),
        Dialect("no choices in a 200", FailsAtTimes(NO_CHOICES)),
        *(
            Dialect(f"ended by {word}", FailsAtTimes(ended_by(word)))
            for word in ("error", "insufficient_system_resource", "abort")
        ),
        Dialect("busy in a 200, beside", FailsAtTimes(BUSY_BESIDE)),
        Dialect("busy in a 200, at the top", FailsAtTimes(BUSY_AT_THE_TOP)),
        Dialect("a flat error in a 200", FailsAtTimes(FLAT_ERROR)),
        Dialect("refused in a 200", refused_in_a_200),
        Dialect("refused in a 200, as text", positive_temperature_in_a_200),
        Dialect("a whole reply that ends as a stream", whole=ended_as_a_stream),
        Dialect("a whole reply after blank lines", whole=kept_alive),
        Dialect("a whole reply, compressed", whole=compressed),
        Dialect("a stream unasked", unasked=True),
        Dialect("a stream that is said to be text", unasked=True, kind="text/plain; charset=utf-8"),
        Dialect("a stream with a mark at its beginning", begins=b"\xef\xbb\xbf"),
        Dialect("a stream with lines that end in CR", frame=crs),
        Dialect("a stream with data over several lines", frame=several_lines),
        Dialect("a stream with two choices", frame=two_choices),
    ]
    return {one.name: one for one in each}
