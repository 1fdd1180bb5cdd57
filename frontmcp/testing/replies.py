"""What a test's client answers when the server asks: for its user, its model and its roots."""

from __future__ import annotations

import inspect
from collections.abc import Awaitable, Callable, Iterable, Mapping
from typing import Any, Literal, TypeAlias, TypeVar

from mcp_types import (
    INTERNAL_ERROR,
    CreateMessageRequestParams,
    CreateMessageResult,
    CreateMessageResultWithTools,
    ElicitRequestURLParams,
    ElicitResult,
    ErrorData,
    ListRootsResult,
    Root,
    SamplingCapability,
    SamplingMessage,
    SamplingToolsCapability,
    TextContent,
)

Kind: TypeAlias = Literal["form", "url", "sampling", "sampling.tools", "roots"]
T = TypeVar("T")

Reply: TypeAlias = Mapping[str, Any] | Literal["decline", "cancel"]
Replier: TypeAlias = Callable[[str, dict[str, Any]], Reply | Awaitable[Reply]]
"""Answers a question, given its message and the JSON Schema of its form."""

UrlReply: TypeAlias = Literal["accept", "decline", "cancel"]
UrlReplier: TypeAlias = Callable[[str, str], UrlReply | Awaitable[UrlReply]]
"""Answers for a user who is to open a URL, given the message and the URL."""

Sampled: TypeAlias = str | CreateMessageResult | CreateMessageResultWithTools
Sampler: TypeAlias = Callable[[list[SamplingMessage], CreateMessageRequestParams], Sampled | Awaitable[Sampled]]
"""Stands in for the client's model, given the messages, and everything that came with them."""

RootLister: TypeAlias = Callable[[], Iterable[str | Root] | Awaitable[Iterable[str | Root]]]
"""Lists the client's roots: ``file://`` URIs."""


class Replies:
    """The functions that answer, by the kind of question.

    :ivar failed: what one of them raised, which the protocol can't carry.
    """

    def __init__(self) -> None:
        self.failed: Exception | None = None
        self._by_kind: dict[Kind, Callable[..., Any]] = {}

    def set(self, kind: Kind, reply: Callable[..., Any] | None) -> bool:
        """Let ``reply`` answer, or nobody; whether the client offers something else than before."""
        offered = kind in self._by_kind
        if reply is None:
            self._by_kind.pop(kind, None)
        else:
            self._by_kind[kind] = reply
        return offered != (kind in self._by_kind)

    def callbacks(self) -> dict[str, Any]:
        """The SDK client's options: it declares what there is a callback for."""
        found: dict[str, Any] = {}
        if "form" in self._by_kind or "url" in self._by_kind:
            found["elicitation_callback"] = self._elicit
        if "sampling" in self._by_kind:
            tools = SamplingToolsCapability() if "sampling.tools" in self._by_kind else None
            found["sampling_callback"] = self._sample
            found["sampling_capabilities"] = SamplingCapability(tools=tools)
        if "roots" in self._by_kind:
            found["list_roots_callback"] = self._list_roots
        return found

    def raise_failed(self) -> None:
        """Raise what a function raised since the last time."""
        failed, self.failed = self.failed, None
        if failed is not None:
            raise failed

    async def _elicit(self, context: Any, params: Any) -> ElicitResult | ErrorData:
        if isinstance(params, ElicitRequestURLParams):
            return await self._answer("url", _url_result, params.message, params.url)
        return await self._answer("form", _elicit_result, params.message, params.requested_schema)

    async def _sample(self, context: Any, params: CreateMessageRequestParams) -> Any:
        return await self._answer("sampling", _sampling_result, params.messages, params)

    async def _list_roots(self, context: Any) -> ListRootsResult | ErrorData:
        return await self._answer("roots", _roots_result)

    async def _answer(self, kind: Kind, result: Callable[[Any], T], *given: Any) -> T | ErrorData:
        try:
            reply = self._by_kind[kind](*given)
            return result(await reply if inspect.isawaitable(reply) else reply)
        except Exception as error:
            self.failed = error
            return ErrorData(code=INTERNAL_ERROR, message="The test could not answer")


def _elicit_result(reply: Any) -> ElicitResult:
    if reply in ("decline", "cancel"):
        return ElicitResult(action=reply)
    if isinstance(reply, Mapping):
        return ElicitResult(action="accept", content=dict(reply))
    raise TypeError(f'on_elicitation: give the form\'s fields as a dict, "decline" or "cancel", not {reply!r}')


def _url_result(reply: Any) -> ElicitResult:
    if reply in ("accept", "decline", "cancel"):
        return ElicitResult(action=reply)
    raise TypeError(f'on_elicit_url: give "accept", "decline" or "cancel", not {reply!r}')


def _sampling_result(reply: Any) -> CreateMessageResult | CreateMessageResultWithTools:
    if isinstance(reply, CreateMessageResult | CreateMessageResultWithTools):
        return reply
    if isinstance(reply, str):
        return CreateMessageResult(role="assistant", content=TextContent(text=reply), model="scripted")
    raise TypeError(f"on_sampling: give a text or the SDK's CreateMessageResult, not {reply!r}")


def _roots_result(reply: Iterable[str | Root]) -> ListRootsResult:
    return ListRootsResult(
        roots=[Root.model_validate({"uri": each}) if isinstance(each, str) else each for each in reply]
    )
