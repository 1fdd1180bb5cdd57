"""What is listed under a keyword, such as ``tools=``: definitions, what they decorate, and plain functions."""

from __future__ import annotations

import inspect
from collections.abc import Mapping, Sequence
from typing import Any, Final

from frontmcp.definitions.base import Definition, definitions_of, place_of
from frontmcp.errors import ConfigurationError

LACKS: Final[Mapping[str, str]] = {
    "resources": "URI: decorate it with @Resource(uri)",
    "channels": "source: decorate it with @Channel(source=…)",
    "agents": "model: decorate it with @Agent(llm=…)",
    "workflows": "steps: give a Workflow(name=…, steps=[…])",
}
"""What a plain function lacks to be listed there."""


def listed(target: Any, noun: str, classes: Sequence[type[Definition]]) -> Definition:
    """The definition of something listed under a keyword.

    :param noun: the keyword.
    :param classes: what may be listed there. A plain function becomes the first, where that can be.
    :raises ConfigurationError: it is nothing of that kind.
    """
    name, article = classes[0].noun, _with_article(classes[0].noun.lower())
    if isinstance(target, Definition) and isinstance(target, tuple(classes)):
        if not target.is_complete:
            raise ConfigurationError(
                f"{noun}=: {_with_article(type(target).__name__)}(…) that decorates nothing; "
                "put it above a class or function"
            )
        return target
    if found := definitions_of(target):
        fitting = [each for each in found.values() if isinstance(each, tuple(classes))]
        # Agents are tools; what is decorated as both is listed as what is asked for.
        fitting.sort(key=lambda each: type(each) not in classes)
        return fitting[0] if fitting else classes[0].of(target)
    if not callable(target) or _is_ours(target):
        raise ConfigurationError(f"{noun}=: {target!r} is not {article}")
    if inspect.isclass(target):
        raise ConfigurationError(f"{noun}=: class {place_of(target)} is not {article}: decorate it with @{name}")
    if inspect.ismethod(target) and definitions_of(target.__func__):
        raise ConfigurationError(
            f"{noun}=: {place_of(target)} was decorated before it was bound: "
            f"leave @{name} off, and list the bound method"
        )
    if noun in LACKS:
        raise ConfigurationError(f"{noun}=: {place_of(target)} has no {LACKS[noun]}")
    return classes[0].from_callable(target)


def _with_article(noun: str) -> str:
    return f"{'an' if noun[0] in 'aA' else 'a'} {noun}"


def _is_ours(target: Any) -> bool:
    """Whether it is an object of this framework, such as an App, which can be called to decorate something."""
    return type(target).__module__.partition(".")[0] == "frontmcp"
