"""Dependencies: what `Annotated[Db, Inject()]` and `self.get(Db)` give."""

from __future__ import annotations

import inspect
import threading
from collections.abc import AsyncIterator, Callable, Iterable, Mapping
from contextlib import AbstractAsyncContextManager, AsyncExitStack, asynccontextmanager
from dataclasses import dataclass
from typing import Any, Generic, Literal, TypeAlias, TypeVar, get_origin

import anyio

from frontmcp.arguments import called, known_keywords
from frontmcp.call import Call, RequestContext
from frontmcp.errors import ConfigurationError, ProviderError

T = TypeVar("T")
Lifespan: TypeAlias = Callable[[Any], AbstractAsyncContextManager[Mapping[Any, Any] | None]]


@dataclass(frozen=True, slots=True)
class Inject:
    """Marks a parameter that a provider fills: ``db: Annotated[Db, Inject()]``."""


@known_keywords
@dataclass(frozen=True, slots=True)
class Provider(Generic[T]):
    """Makes the instance of a type that tools ask for.

    :param type: what is asked for.
    :param factory: makes it; takes nothing, or the `RequestContext` with ``scope="request"``. It may be async, and
        of server scope an async context manager, which is entered at the start and left at the end. The type itself
        by default.
    :param scope: ``"server"``: once, at the start. ``"request"``: once per client request, at its first use.
    """

    type: type[T]
    factory: Callable[..., Any] = None  # type: ignore[assignment]
    scope: Literal["server", "request"] = "server"

    def __post_init__(self) -> None:
        if self.factory is None:
            object.__setattr__(self, "factory", self.type)


class Providers:
    """The instances of one server."""

    def __init__(self, providers: Iterable[Provider[Any]], lifespan: Lifespan | None) -> None:
        self._providers = {provider.type: provider for provider in providers}
        self._takes_request = {provider.type for provider in self._providers.values() if _required(provider.factory)}
        self._lifespan = lifespan
        self._instances: dict[Any, Any] = {}
        self._asked: dict[Any, str] = {}
        self._lock = threading.RLock()

    def ask(self, parameters: Mapping[str, Any], place: str) -> None:
        """Note what parameters ask for.

        :param parameters: the types, by the name of the parameter.
        :param place: who asks, for messages.
        :raises ConfigurationError: nobody will provide a type; where there is a lifespan, that shows at the start only.
        """
        unknown = {
            type_: f"{place}: parameter {name!r}: {_missing(type_)}"
            for name, type_ in parameters.items()
            if type_ not in self._providers
        }
        if unknown and self._lifespan is None:
            raise ConfigurationError(unknown.values())
        self._asked.update(unknown)

    @asynccontextmanager
    async def running(self, server: Any) -> AsyncIterator[None]:
        """The server-wide instances exist inside.

        :raises ConfigurationError: the lifespan did not bring what a parameter asks for.
        """
        async with AsyncExitStack() as stack:
            try:
                if self._lifespan is not None:
                    brought = await stack.enter_async_context(self._lifespan(server))
                    self._instances.update(brought or {})
                if missing := [problem for type_, problem in self._asked.items() if type_ not in self._instances]:
                    raise ConfigurationError(missing)
                for provider in self._providers.values():
                    if provider.scope == "server" and provider.type not in self._instances:
                        self._instances[provider.type] = await _make(provider, stack)
                yield
            finally:
                self._instances.clear()

    def get(self, call: Call, type_: type[T]) -> T:
        """The instance for a call.

        :raises ProviderError: nobody provides the type, or an async factory of request scope has not made it yet.
        """
        made: Any = self._find_or_make(call.request, type_)
        if inspect.isawaitable(made):
            if inspect.iscoroutine(made):
                made.close()
            name = _name(type_)
            raise ProviderError(f"{name} has an async factory: take it as a parameter, Annotated[{name}, Inject()]")
        return made  # type: ignore[no-any-return]

    async def inject(self, call: Call, type_: Any) -> Any:
        """`get`, for a parameter: async factories are awaited."""
        if type_ in self._instances:
            return self._instances[type_]
        async with self._making(call.request, type_):
            made = self._find_or_make(call.request, type_)
            return self._keep(call.request, type_, await made) if inspect.isawaitable(made) else made

    def _find_or_make(self, request: RequestContext, type_: Any) -> Any:
        """The instance, or what will be it once awaited."""
        with self._lock:
            found = self._find(request, type_)
            if found is not _NOTHING:
                return found
            made = self._made(request, type_)
            return made if inspect.isawaitable(made) else self._keep(request, type_, made)

    def _find(self, request: RequestContext, type_: Any) -> Any:
        if type_ in self._instances:
            return self._instances[type_]
        return _NOTHING if request.provided is None else request.provided.get(type_, _NOTHING)

    def _made(self, request: RequestContext, type_: Any) -> Any:
        provider = self._providers.get(type_)
        if provider is None or provider.scope != "request":
            raise ProviderError(_missing(type_))
        return provider.factory(request) if type_ in self._takes_request else provider.factory()

    def _keep(self, request: RequestContext, key: Any, instance: Any) -> Any:
        if request.provided is None:
            request.provided = {}
        return request.provided.setdefault(key, instance)

    def _making(self, request: RequestContext, type_: Any) -> anyio.Lock:
        """Held while an instance is made: calls that run at once must not make two."""
        lock: anyio.Lock = self._keep(request, (type_, "lock"), anyio.Lock())
        return lock


_NOTHING: Any = object()


async def _make(provider: Provider[Any], stack: AsyncExitStack) -> Any:
    made = provider.factory()
    if isinstance(made, AbstractAsyncContextManager):
        return await stack.enter_async_context(made)
    return await made if inspect.isawaitable(made) else made


def _required(factory: Callable[..., Any]) -> bool:
    """Whether a factory can't be called without an argument."""
    try:
        parameters = inspect.signature(factory).parameters.values()
    except (TypeError, ValueError):
        return False
    return any(each.default is each.empty and each.kind in _POSITIONAL for each in parameters)


_POSITIONAL = (inspect.Parameter.POSITIONAL_ONLY, inspect.Parameter.POSITIONAL_OR_KEYWORD)


def _name(type_: Any) -> str:
    return str(type_) if get_origin(type_) is not None else getattr(type_, "__name__", str(type_))


def _missing(type_: Any) -> str:
    name = _name(type_)
    return f"nothing provides {name}: add Provider({name}, factory) to providers="


def check_lifespan(lifespan: Any) -> list[str]:
    """What is wrong with ``lifespan=``, in words."""
    if lifespan is None or (callable(lifespan) and not inspect.isasyncgenfunction(lifespan)):
        return []
    return [f"lifespan=: decorate {called(lifespan)} with @contextlib.asynccontextmanager"]


def check_providers(providers: Iterable[Any]) -> list[str]:
    """What is wrong with ``providers=``, in words."""
    problems = []
    seen: set[Any] = set()
    for provider in providers:
        if not isinstance(provider, Provider):
            problems.append(f"providers=: {provider!r} is not a Provider(type, factory)")
            continue
        if provider.type in seen:
            problems.append(f"providers=: two providers of {_name(provider.type)}")
        seen.add(provider.type)
        problems += [f"providers=: the provider of {_name(provider.type)}: {wrong}" for wrong in _wrong(provider)]
    return problems


def _wrong(provider: Provider[Any]) -> list[str]:
    if not callable(provider.factory):
        return [f"its factory is not callable, but {provider.factory!r}"]
    if provider.scope not in ("server", "request"):
        return [f'its scope is {provider.scope!r}, not "server" or "request"']
    if inspect.isasyncgenfunction(provider.factory) or inspect.isgeneratorfunction(provider.factory):
        return ["its factory yields: decorate it with @contextlib.asynccontextmanager"]
    beneath = inspect.unwrap(provider.factory)
    if inspect.isgeneratorfunction(beneath):
        return ["its factory is a sync context manager: make it an async one"]
    if provider.scope == "request" and inspect.isasyncgenfunction(beneath):
        return ['an async context manager can have scope="server" only']
    if provider.scope == "server" and _required(provider.factory):
        hint = f"; give a factory: Provider({_name(provider.type)}, make)" if provider.factory is provider.type else ""
        return [f'its factory takes an argument, which only scope="request" passes{hint}']
    return []
