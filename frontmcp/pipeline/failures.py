"""Errors on the road: whose doing they are, who is told, and what of them leaves a call."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Sequence
from types import CodeType, CoroutineType
from typing import Any

import anyio
import sniffio

from frontmcp.asking.suspension import is_left
from frontmcp.call import Call
from frontmcp.chain import Step, add_note, blame, run_step, without_await
from frontmcp.errors import (
    FlowControl,
    FrontMcpError,
    InternalMcpError,
    InvalidInputError,
    InvalidOutputError,
    NotAnException,
    PluginError,
    Response,
    describe,
    unwrap_group,
)
from frontmcp.plugins import PluginManager
from frontmcp.schema import scrub
from frontmcp.schema.values import dotted

logger = logging.getLogger("frontmcp.pipeline")

CALL_NOTE = "in the call "


class Failures:
    """What an error means where it leaves a call (architecture §6).

    :param surrounded: the code that wrapper hooks surround; an error raised below it is not their doing.
    """

    def __init__(self, plugins: PluginManager, surrounded: Sequence[CodeType]) -> None:
        self._plugins = plugins
        self._surrounded = tuple(surrounded)

    async def left_with(self, call: Call, error: BaseException) -> BaseException:
        """What a call is left with: a cancellation as it is, any other error seen by `on_error` and as it leaves."""
        if is_cancellation(error):
            if call.parent is None:
                call.request.abort()
            return error
        raised = self._classify(call, error)
        if isinstance(raised, InvalidInputError | InvalidOutputError):
            add_call_note(call, raised)
        await self._observe(call, raised)
        left = self._leaving(call, raised)
        if left is not error and left.__cause__ is None and left is not raised:
            left.__cause__ = raised
        return left

    def _classify(self, call: Call, error: BaseException) -> BaseException:
        """The error as raised at this level: what a hook raised becomes a `PluginError` unless it is public."""
        whole, error = error, unwrap_group(error)
        if error is call.failure or isinstance(error, FlowControl | InvalidOutputError):
            return error
        steps = [step for steps in call.plan.steps.values() for step in steps] if call.plan else []
        step = blame(whole, steps, self._surrounded)
        if step is not None:
            add_note(error, step)
        if isinstance(error, FrontMcpError) and (step is None or error.public):
            return error
        if step is None:
            step = blame(whole, self._plugins.steps("resolve_tool") + self._plugins.steps("entry_visible"))
        plugin_error = (
            PluginError(step.plugin, step.hook, error) if step is not None else InternalMcpError(describe(error))
        )
        plugin_error.__cause__ = error
        return plugin_error

    def _leaving(self, call: Call, error: BaseException) -> BaseException:
        """The error as it leaves this level."""
        if isinstance(error, FlowControl):
            original = error.original_error
            if call.parent is not None:
                return error
            return original if isinstance(original, FrontMcpError) else _failed(call, original)
        passes = isinstance(error, FrontMcpError) and (
            error is not call.failure or error.public or isinstance(error, InvalidOutputError | PluginError)
        )
        return error if passes else _failed(call, error)

    async def _observe(self, call: Call, error: BaseException) -> None:
        steps = (
            call.plan.steps.get("on_error", ()) if call.plan is not None else self._plugins.unbound_steps("on_error")
        )
        if not steps:
            return
        seen = error.original_error if isinstance(error, FlowControl) else error
        if isinstance(error, PluginError) and error.__cause__ is not None:
            seen = error.__cause__
        for step in steps:
            try:
                await run_step(step, call, seen)
            except BaseException as failure:
                if is_cancellation(failure):
                    raise
                logger.exception('plugin "%s" failed in on_error', step.plugin)


def add_call_note(call: Call, error: InvalidInputError | InvalidOutputError) -> None:
    """Say on the error itself in which call it was raised first, and for wrong input what was wrong with it."""
    if any(note.startswith(CALL_NOTE) for note in getattr(error, "__notes__", ())):
        return
    issues = error.validation_errors if isinstance(error, InvalidInputError) else ()
    wrong = "; ".join(f"{dotted(issue['path']) or 'input'}: {issue['message']}" for issue in issues)
    error.add_note(f"{CALL_NOTE}{call.path}" + (f": {wrong}" if wrong else ""))


def check_awaited(call: Call, hook: str, value: Any, last: CodeType) -> None:
    """Check what wrapper hooks gave.

    :param last: the code that the innermost of them surrounds.
    :raises PluginError: it is a ``call_next()`` that one of them did not await.
    """
    if type(value) is not CoroutineType:
        return
    step = without_await(value, call.plan.steps[hook], last)
    if step is not None:
        value.close()
        error = PluginError(step.plugin, hook, TypeError("call_next() is not awaited: write await call_next()"))
        add_note(error, step)
        raise error


def replacing(call: Call, hook: str) -> str:
    """The implementations that may have put another value in the place of the body's, in words."""
    return " or ".join(f"{hook} of {step.described}" for step in _foreign(call, hook))


def _foreign(call: Call, hook: str) -> list[Step]:
    """The implementations of a hook that are not the core's own, which never lose a value."""
    return [step for step in call.plan.steps[hook] if not call.server.plugins.is_built_in(step.plugin)]


def lost_result(call: Call) -> PluginError:
    """The error of a guard that gave None, which is no result of a tool."""
    steps = _foreign(call, "guard_call")
    plugins = " or ".join(dict.fromkeys(step.plugin for step in steps))
    error = PluginError(plugins, "guard_call", TypeError("it gave no result: write return await call_next()"))
    for step in steps:
        add_note(error, step)
    return error


def warn_of_lost_value(call: Call) -> None:
    """In development, say once for an entry that a wrapper gave None for the value that ``call_next()`` gave it."""
    if call.plan.warned or call.server.production:
        return
    call.plan.warned = True
    logger.warning(
        '%s "%s" returned a value, but None came out of %s: write return await call_next()',
        call.entry.kind, call.entry.id, replacing(call, "around_execute"), extra=call.log_fields,
    )  # fmt: skip


def is_cancellation(error: BaseException) -> bool:
    """Whether an error must pass untouched: cancellation that somebody asked for, or the end of the program."""
    if isinstance(error, Exception):
        return False
    if is_left(error):
        return True
    if isinstance(error, KeyboardInterrupt):
        return True
    if isinstance(error, GeneratorExit):
        return not _in_task()
    if isinstance(error, BaseExceptionGroup):
        return False
    if sniffio.current_async_library() != "asyncio":
        return isinstance(error, anyio.get_cancelled_exc_class())
    task = asyncio.current_task()
    return isinstance(error, asyncio.CancelledError) and (task is None or task.cancelling() > 0)


def _in_task() -> bool:
    """Whether a task runs us. Where none does, a coroutine is being closed, and may not go on."""
    try:
        anyio.get_current_task()
    except Exception:
        return False
    return True


def body_outcome(call: Call, error: BaseException) -> Any:
    """What the body's exception means: the value of `self.respond`, or an error to raise."""
    if is_cancellation(error):
        raise error
    leaf = unwrap_group(error)
    if isinstance(leaf, Response):
        return leaf.value
    leaf = scrub(leaf)
    if not isinstance(leaf, Exception):
        leaf = NotAnException(leaf).with_traceback(leaf.__traceback__)
    call.failure = leaf
    if leaf is error:
        raise error
    try:
        raise leaf from None
    finally:
        # What is handled here, and would be its context, may hold what was sent.
        leaf.__context__ = None


def _failed(call: Call, error: BaseException | None) -> FrontMcpError:
    """What an error that is not public becomes, where it leaves a call."""
    if call.entry is None:
        return InternalMcpError("" if error is None else describe(error))
    failed: FrontMcpError = call.entry.failed(call, error)
    return failed
