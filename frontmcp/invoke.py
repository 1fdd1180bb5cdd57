"""A body made callable: one function per entry, built at registration, from a call to the user's own coroutine."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from functools import partial
from typing import Any, Literal, TypeAlias

from frontmcp.call import Call
from frontmcp.contexts.base import Context
from frontmcp.definitions.body import Body
from frontmcp.providers import Providers
from frontmcp.threads import Threads

Invoke: TypeAlias = Callable[[Call], Awaitable[Any]]


def make_invoke(
    body: Body,
    context_class: type[Context],
    *,
    model_parameter: str | None,
    sync: Literal["thread", "inline"],
    threads: Threads,
    providers: Providers,
) -> Invoke:
    """The function that starts the body for a call, with its input, its context and what is injected.

    :param context_class: the context of a function's body.
    :param model_parameter: the parameter that takes the whole input.
    :param sync: where a ``def`` body runs.
    """
    start = _starter(body, context_class)
    if model_parameter is not None:
        start = _with_model(start, model_parameter)
    if not body.is_async:
        start = _in_thread(start, threads) if sync == "thread" else _inline(start)
    if body.injected:
        return _injecting(start, body, providers)
    return lambda call: start(call, call.input) if model_parameter is None else start(call, {})


Start: TypeAlias = Callable[[Call, dict[str, Any]], Any]


def _starter(body: Body, context_class: type[Context]) -> Start:
    function, parameter = body.function, body.context_parameter
    if body.context_class is not None:
        return lambda call, arguments: context_of(call, body.context_class).execute(**arguments)
    if parameter is not None:
        return lambda call, arguments: function(**arguments, **{parameter: context_of(call, context_class)})
    return lambda call, arguments: function(**arguments)


def context_of(call: Call, context_class: type[Context] | None) -> Any:
    """The context of a call: a new instance, the same for the body and the hooks on its class."""
    if call.context is None and context_class is not None:
        call.context = context_class()
        call.context._call = call
    return call.context


def _with_model(start: Start, parameter: str) -> Start:
    return lambda call, arguments: start(call, {**arguments, parameter: call.input})


def _in_thread(start: Start, threads: Threads) -> Start:
    return lambda call, arguments: threads.run(call.depth, partial(start, call, arguments))


def _inline(start: Start) -> Start:
    async def run(call: Call, arguments: dict[str, Any]) -> Any:
        return start(call, arguments)

    return run


def _injecting(start: Start, body: Body, providers: Providers) -> Invoke:
    async def run(call: Call) -> Any:
        arguments = {} if not isinstance(call.input, dict) else dict(call.input)
        for name, type_ in body.injected.items():
            arguments[name] = await providers.inject(call, type_)
        return await start(call, arguments)

    return run
