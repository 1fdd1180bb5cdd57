"""`CompletableEntry`: values for its arguments, by the user's completers or by what their types allow."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from typing import Any, Final

from mcp_types import Completion

from frontmcp.call import Call
from frontmcp.definitions.completion import Completable
from frontmcp.entries.base import Entry
from frontmcp.invoke import Invoke, make_invoke
from frontmcp.providers import Providers
from frontmcp.threads import Threads

MOST: Final = 100
"""How many values a completion may have."""


class CompletableEntry(Entry):
    """An entry whose arguments can be completed.

    :ivar completers: start the user's function for an argument.
    :ivar choices: the values that an argument's type allows.
    """

    def __init__(self, definition: Completable, app_id: str, *, threads: Threads, providers: Providers) -> None:
        super().__init__(definition, app_id, threads=threads, providers=providers)
        self.completers: dict[str, Invoke] = {}
        for argument, body in definition.completer_bodies().items():
            providers.ask(body.injected, f"{definition.place}: complete({argument!r})")
            self.completers[argument] = make_invoke(
                body,
                model_parameter=None,
                sync=definition.sync,
                threads=threads,
                providers=providers,
                only=body.fields,
            )
        properties = definition.input.schema["properties"]
        found = {name: list(_choices(properties.get(name, {}))) for name in definition.completable}
        self.choices = {name: values for name, values in found.items() if values}

    @property
    def can_complete(self) -> bool:
        """Whether there is anything to complete."""
        return bool(self.completers or self.choices)

    async def complete(self, call: Call, argument: str, value: str, arguments: Mapping[str, str]) -> Completion:
        completer = self.completers.get(argument)
        if completer is None:
            return _completion(_beginning(self.choices.get(argument, ()), value))
        call.input = {"value": value, "arguments": dict(arguments)}
        return _completion(await completer(call))


def _completion(given: Any) -> Completion:
    if isinstance(given, Completion):
        values, total, has_more = given.values, given.total, given.has_more
    else:
        values, total, has_more = [str(each) for each in given or ()], None, None
    total = max(len(values), total or 0) if total is not None or has_more is None else None
    return Completion(
        values=values[:MOST],
        total=total,
        has_more=bool(has_more) or len(values) > MOST or (total is not None and total > len(values)),
    )


def _beginning(choices: Iterable[str], value: str) -> list[str]:
    typed = value.casefold()
    return [each for each in choices if each.casefold().startswith(typed)]


def _choices(schema: Any) -> Iterator[str]:
    """The values of an enum, a Literal or a bool, in any member of a union."""
    if not isinstance(schema, Mapping):
        return
    for member in schema.get("anyOf", ()):
        yield from _choices(member)
    if schema.get("type") == "boolean":
        yield from ("true", "false")
        return
    values = schema.get("enum", [schema["const"]] if "const" in schema else [])
    yield from (str(each) for each in values if each is not None)
