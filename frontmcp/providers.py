"""Dependencies: what `Annotated[Db, Inject()]` and `self.get(Db)` give."""

from __future__ import annotations

import inspect
from collections.abc import AsyncIterator, Awaitable, Callable, Iterable, Mapping
from contextlib import AbstractAsyncContextManager, AsyncExitStack, asynccontextmanager
from dataclasses import dataclass
from typing import Any, Generic, Literal, TypeAlias, TypeVar

from frontmcp.call import Call, RequestContext
from frontmcp.errors import ProviderError

T = TypeVar("T")
Lifespan: TypeAlias = Callable[[Any], AbstractAsyncContextManager[Mapping[type, Any] | None]]


@dataclass(frozen=True, slots=True)
class Inject:
    """Marks a parameter that a provider fills: ``db: Annotated[Db, Inject()]``."""


@dataclass(frozen=True, slots=True)
class Provider(Generic[T]):
    """Makes the instance of a type that tools ask for.

    :param type: what is asked for.
    :param factory: makes it; takes nothing, or the `RequestContext` with ``scope="request"``. Of server scope it
        may be async, and an async context manager is entered at the start and left at the end.
    :param scope: ``"server"``: once, at the start. ``"request"``: once per client request, at its first use.
    """

    type: type[T]
    factory: Callable[..., Any]
    scope: Literal["server", "request"] = "server"


class Providers:
    """The instances of one server."""

    def __init__(self, providers: Iterable[Provider[Any]], lifespan: Lifespan | None) -> None:
        self._providers = {provider.type: provider for provider in providers}
        self._lifespan = lifespan
        self._instances: dict[type, Any] = {}

    def provides(self, type_: type) -> bool:
        """Whether the type is known before the server starts; a lifespan may still bring it."""
        return type_ in self._providers or self._lifespan is not None

    @asynccontextmanager
    async def running(self, server: Any) -> AsyncIterator[None]:
        """The server-wide instances exist inside."""
        async with AsyncExitStack() as stack:
            if self._lifespan is not None:
                yielded = await stack.enter_async_context(self._lifespan(server))
                self._instances.update(yielded or {})
            for provider in self._providers.values():
                if provider.scope == "server" and provider.type not in self._instances:
                    self._instances[provider.type] = await self._make(provider, stack)
            try:
                yield
            finally:
                self._instances.clear()

    async def _make(self, provider: Provider[Any], stack: AsyncExitStack) -> Any:
        made = provider.factory()
        if isinstance(made, AbstractAsyncContextManager):
            return await stack.enter_async_context(made)
        return await made if inspect.isawaitable(made) else made

    def get(self, call: Call, type_: type[T]) -> T:
        """The instance for a call.

        :raises ProviderError: nobody provides the type, or it is made by an async factory of request scope.
        """
        if type_ in self._instances:
            instance: T = self._instances[type_]
            return instance
        made = self._of_request(call.request, type_)
        if inspect.isawaitable(made):
            if inspect.iscoroutine(made):
                made.close()
            raise ProviderError(
                f"{type_.__name__} has an async factory: take it as a parameter, Annotated[{type_.__name__}, Inject()]"
            )
        return self._keep(call.request, type_, made)

    async def inject(self, call: Call, type_: type[T]) -> T:
        """`get`, for a parameter: async factories are awaited."""
        if type_ in self._instances:
            instance: T = self._instances[type_]
            return instance
        made = self._of_request(call.request, type_)
        return self._keep(call.request, type_, await made if inspect.isawaitable(made) else made)

    def _of_request(self, request: RequestContext, type_: type[T]) -> T | Awaitable[T]:
        if request.provided is not None and type_ in request.provided:
            kept: T = request.provided[type_]
            return kept
        provider = self._providers.get(type_)
        if provider is None or provider.scope != "request":
            raise ProviderError(f"nothing provides {type_.__name__}: add Provider({type_.__name__}, factory) to providers=")
        made: T | Awaitable[T] = (
            provider.factory(request) if inspect.signature(provider.factory).parameters else provider.factory()
        )
        return made

    def _keep(self, request: RequestContext, type_: type[T], instance: T) -> T:
        if request.provided is None:
            request.provided = {}
        kept: T = request.provided.setdefault(type_, instance)
        return kept


def check_providers(providers: Iterable[Any]) -> list[str]:
    """What is wrong with ``providers=``, in words."""
    problems = []
    seen: set[type] = set()
    for provider in providers:
        if not isinstance(provider, Provider):
            problems.append(f"providers=: {provider!r} is not a Provider(type, factory)")
        elif provider.type in seen:
            problems.append(f"providers=: two providers of {provider.type.__name__}")
        else:
            seen.add(provider.type)
    return problems


