"""What a context can ask of the client and its user, in every protocol version."""

from __future__ import annotations

import uuid
from collections.abc import Awaitable, Callable, Sequence
from typing import Any, TypeVar, overload

from mcp_types import Root, Tool, ToolChoice

from frontmcp import questions
from frontmcp.call import Accepted, Call, Cancelled, Declined, SamplingResult
from frontmcp.contexts.sync import awaited, from_thread
from frontmcp.questions import Messages, Models
from frontmcp.schema import JsonSchema

T = TypeVar("T")


class AskingContext:
    """Questions. Up to 2025-11-25 the body waits for the answer; from 2026-07-28 on it runs again from its start once
    the answer is there: ask first, act after (architecture §7).
    """

    _in_thread = False

    @property
    def call(self) -> Call:
        """The call that is being executed."""
        raise NotImplementedError

    @overload
    async def elicit(
        self, message: str, model: JsonSchema, *, key: str | None = None
    ) -> Accepted[dict[str, Any]] | Declined | Cancelled: ...
    @overload
    async def elicit(
        self, message: str, model: type[T], *, key: str | None = None
    ) -> Accepted[T] | Declined | Cancelled: ...
    @awaited
    async def elicit(self, message: str, model: Any, *, key: str | None = None) -> Any:
        """Ask the client's user to fill in a form.

        :param message: what the user reads.
        :param model: the form: a flat pydantic model, or a `JsonSchema` of one, for which the answer is a dict.
        :param key: names the question in its round of questions, for the client (2026-07-28).
        :raises ElicitationNotSupportedError: nobody can be asked here; a tool may catch it.
        :raises ElicitationInvalidError: the answer does not fit the form.
        :raises ClientAnswerError: the client answered with an error.
        :raises TypeError: the model is no flat form.
        """
        call = self.call
        return questions.read_form(await call.runner.ask(call, questions.form(message, model, key)), model)

    @overload
    def elicit_sync(
        self, message: str, model: JsonSchema, *, key: str | None = None
    ) -> Accepted[dict[str, Any]] | Declined | Cancelled: ...
    @overload
    def elicit_sync(
        self, message: str, model: type[T], *, key: str | None = None
    ) -> Accepted[T] | Declined | Cancelled: ...
    def elicit_sync(self, message: str, model: Any, *, key: str | None = None) -> Any:
        """`elicit`, inside a sync body."""
        return from_thread(lambda: self.elicit(message, model, key=key))

    @awaited
    async def elicit_url(
        self,
        message: str,
        url: str,
        *,
        until: Callable[[], Awaitable[object]] | None = None,
        key: str | None = None,
    ) -> Accepted[None] | Declined | Cancelled:
        """Ask the client's user to open a URL, where a form is no place for what they are asked: to pay, to log in.

        :param message: why, for the user to read.
        :param url: http or https. It must not let in whoever has it: what opens it finds out who that is.
        :param until: awaited once the user agreed: until what they do there is done. The client is told then, where
            its protocol version has a way to (2025-11-25).
        :param key: as for `elicit`.
        :returns: ``Accepted(None)``: the user agreed to open it.
        :raises ElicitationNotSupportedError: the client can't send its user to a URL; a tool may catch it.
        :raises ClientAnswerError: the client answered with an error.
        :raises ValueError: it is no URL.
        """
        call = self.call
        peer = call.request.peer
        elicitation_id = uuid.uuid4().hex if call.request.asking is None else None
        question = questions.link(message, url, elicitation_id, key)
        answer = questions.read_link(await call.runner.ask(call, question))
        if until is not None and isinstance(answer, Accepted):
            await until()
            if peer is not None and elicitation_id is not None:
                await peer.elicited(elicitation_id)
        return answer

    def elicit_url_sync(
        self,
        message: str,
        url: str,
        *,
        until: Callable[[], Awaitable[object]] | None = None,
        key: str | None = None,
    ) -> Accepted[None] | Declined | Cancelled:
        """`elicit_url`, inside a sync body."""
        return from_thread(lambda: self.elicit_url(message, url, until=until, key=key))

    @awaited
    async def sample(
        self,
        messages: Messages,
        *,
        max_tokens: int = 512,
        system_prompt: str | None = None,
        temperature: float | None = None,
        stop_sequences: Sequence[str] | None = None,
        model_preferences: Models | None = None,
        tools: Sequence[Tool] | None = None,
        tool_choice: ToolChoice | None = None,
        key: str | None = None,
    ) -> SamplingResult:
        """Ask the client's model.

        :param messages: a text of the user, a message, or several of either; to a model's call of a tool the next
            message answers.
        :param max_tokens: that the model may write.
        :param model_preferences: a name, several in order, or the SDK's `ModelPreferences`; the client chooses.
        :param tools: what the model may call, which is then the answer's content for the body to do
            (`SamplingResult.content_as_list`); for clients that declare ``sampling.tools``.
        :param key: as for `elicit`.
        :returns: what it said, with its ``text``.
        :raises SamplingNotSupportedError: the client offers no model, or none with tools; a tool may catch it.
        :raises ClientAnswerError: the client answered with an error: its user may refuse.
        """
        call = self.call
        question = questions.sampling(
            messages,
            max_tokens,
            system_prompt,
            temperature,
            stop_sequences,
            model_preferences,
            tools,
            tool_choice,
            key,
        )
        return questions.read_sampling(await call.runner.ask(call, question))

    def sample_sync(
        self,
        messages: Messages,
        *,
        max_tokens: int = 512,
        system_prompt: str | None = None,
        temperature: float | None = None,
        stop_sequences: Sequence[str] | None = None,
        model_preferences: Models | None = None,
        tools: Sequence[Tool] | None = None,
        tool_choice: ToolChoice | None = None,
        key: str | None = None,
    ) -> SamplingResult:
        """`sample`, inside a sync body."""
        return from_thread(
            lambda: self.sample(
                messages,
                max_tokens=max_tokens,
                system_prompt=system_prompt,
                temperature=temperature,
                stop_sequences=stop_sequences,
                model_preferences=model_preferences,
                tools=tools,
                tool_choice=tool_choice,
                key=key,
            )
        )

    @awaited
    async def list_roots(self, *, key: str | None = None) -> list[Root]:
        """Ask the client for its roots: the directories and files that it wants worked on.

        :param key: as for `elicit`.
        :raises RootsNotSupportedError: the client has none; a tool may catch it.
        :raises ClientAnswerError: the client answered with an error.
        """
        call = self.call
        return questions.read_roots(await call.runner.ask(call, questions.roots(key)))

    def list_roots_sync(self, *, key: str | None = None) -> list[Root]:
        """`list_roots`, inside a sync body."""
        return from_thread(lambda: self.list_roots(key=key))
