"""What stands in for the provider of models behind an adapter under test."""

from __future__ import annotations

import inspect
import json
from collections.abc import Callable, Mapping
from typing import Any, ClassVar

import anyio
import httpx2

from frontmcp.interfaces import Completion
from frontmcp.testing.models import Failure


class HttpModelBackend:
    """A `ModelBackend` at the HTTP layer, behind ``httpx2.AsyncClient(transport=httpx2.MockTransport(backend))``.

    Subclass it with what the provider sends: `answer`, and ``failures``.

    :cvar failures: makes the answer that a failure is; no answer in time needs none.
    :ivar requests: what was sent, the last one last.
    :ivar respond: makes the answer to the body of a request, which may be awaited.
    """

    failures: ClassVar[Mapping[Failure, Callable[[], httpx2.Response]]] = {}

    def __init__(self) -> None:
        self.requests: list[httpx2.Request] = []
        self.respond: Callable[[Any], Any] = lambda body: httpx2.Response(500)

    async def __call__(self, request: httpx2.Request) -> httpx2.Response:
        self.requests.append(request)
        response: Any = self.respond(json.loads(request.content))
        answer: httpx2.Response = await response if inspect.isawaitable(response) else response
        return answer

    def answer(self, completion: Completion) -> None:
        """Answer every request from now on with what the provider sends for this: set ``respond``."""
        raise NotImplementedError

    def fail(self, failure: Failure) -> None:
        """Fail every request from now on."""
        self.respond = self._time_out if failure == "timeout" else lambda body: self.failures[failure]()

    async def _time_out(self, body: Any) -> httpx2.Response:
        raise httpx2.ReadTimeout("no answer")

    def hang(self) -> None:
        """Never answer from now on."""
        self.respond = lambda body: anyio.sleep_forever()

    def sent(self) -> str:
        """The body of the last request."""
        return self.requests[-1].content.decode()

    @property
    def body(self) -> Any:
        """The same, as data."""
        return json.loads(self.sent())
