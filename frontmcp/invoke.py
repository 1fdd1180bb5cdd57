"""A body made callable: one function per entry, built at registration, from a call to the user's own coroutine."""

from __future__ import annotations

import inspect
from collections.abc import Awaitable, Callable, Collection
from functools import partial
from operator import attrgetter
from typing import Any, Literal, TypeAlias

from frontmcp.call import Call
from frontmcp.contexts.base import Context
from frontmcp.definitions.body import Body
from frontmcp.providers import Providers
from frontmcp.threads import Threads

Invoke: TypeAlias = Callable[[Call], Awaitable[Any]]
Arguments: TypeAlias = dict[str, Any]
Start: TypeAlias = Callable[[Call, Arguments], Any]


def make_invoke(
    body: Body,
    *,
    model_parameter: str | None,
    sync: Literal["thread", "inline"],
    threads: Threads,
    providers: Providers,
    only: Collection[str] | None = None,
) -> Invoke:
    """The function that starts the body for a call, with its input, its context and what is injected.

    :param model_parameter: the parameter that takes the whole input.
    :param sync: where a ``def`` body runs.
    :param only: what the body takes of the input; all of it by default.
    """
    start = _starter(body)
    if not body.is_async:
        start = _in_thread(start, body, threads) if sync == "thread" else _inline(start)
    arguments_of: Callable[[Call], Arguments] = attrgetter("input")
    if model_parameter is not None:
        arguments_of = _input_as(model_parameter)
    elif only is not None:
        arguments_of = _some_input(frozenset(only))
    if body.injected:
        return _injecting(start, arguments_of, body, providers)
    return lambda call: start(call, arguments_of(call))


def _starter(body: Body) -> Start:
    function, parameter, context_type = body.function, body.context_parameter, body.context_type
    if body.context_class is not None:
        if (name := body.context_class._body) != "execute":
            return lambda call, arguments: getattr(context_of(call, body.context_class), name)(**arguments)
        return lambda call, arguments: context_of(call, body.context_class).execute(**arguments)
    if parameter is not None:
        return lambda call, arguments: function(**arguments, **{parameter: context_of(call, context_type)})
    return lambda call, arguments: function(**arguments)


def context_of(call: Call, context_class: type[Context] | None) -> Any:
    """The context of a call: a new instance, the same for the body and the hooks on its class."""
    if call.context is None and context_class is not None:
        call.context = context_class()
        call.context._call = call
    return call.context


def _input_as(parameter: str) -> Callable[[Call], Arguments]:
    return lambda call: {parameter: call.input}


def _some_input(names: frozenset[str]) -> Callable[[Call], Arguments]:
    return lambda call: {name: value for name, value in call.input.items() if name in names}


def _in_thread(start: Start, body: Body, threads: Threads) -> Start:
    context_class = body.context_class or body.context_type

    def begin(call: Call, arguments: Arguments) -> Any:
        if context_class is not None:
            context_of(call, context_class)._in_thread = True
        return start(call, arguments)

    return lambda call, arguments: threads.run(call.depth, partial(begin, call, arguments), call.abandon)


def _inline(start: Start) -> Start:
    async def run(call: Call, arguments: Arguments) -> Any:
        result = start(call, arguments)
        return await result if inspect.isawaitable(result) else result

    return run


def _injecting(start: Start, arguments_of: Callable[[Call], Arguments], body: Body, providers: Providers) -> Invoke:
    async def run(call: Call) -> Any:
        arguments = dict(arguments_of(call))
        for name, type_ in body.injected.items():
            arguments[name] = await providers.inject(call, type_)
        return await start(call, arguments)

    return run
