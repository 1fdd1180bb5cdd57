"""Which tools a model is offered: the agent's own, and those that its options add."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any

from frontmcp import Call
from frontmcp.errors import CallDepthError
from frontmcp.interfaces import ModelTool
from plugins_builtin.agents.options import Execution, Swarm

MAX_NAME = 64
"""How long the name of a tool may be for every provider."""


@dataclass(frozen=True, slots=True)
class Offered:
    """A tool that a model is offered.

    :ivar own: it is the agent's own, and finds only such.
    """

    entry: Any
    own: bool


@dataclass(slots=True)
class Offer:
    """The tools a model is offered, and what stands behind their names."""

    tools: list[ModelTool] = field(default_factory=list)
    by_name: dict[str, Offered] = field(default_factory=dict)

    def add(self, entry: Any, name: str, *, own: bool) -> None:
        """Offer a tool under a name like ``name`` that every provider takes, and no other tool has."""
        name = self._free(re.sub(r"[^A-Za-z0-9_-]", "_", name)[:MAX_NAME])
        self.tools.append(ModelTool(name, entry.definition.description, entry.input.schema))
        self.by_name[name] = Offered(entry, own)

    def _free(self, name: str) -> str:
        free, count = name, 1
        while free in self.by_name:
            count += 1
            free = f"{name[: MAX_NAME - 4]}_{count}"
        return free


class Offers:
    """What the model of one agent is offered, call by call."""

    def __init__(self, entry: Any, execution: Execution, swarm: Swarm) -> None:
        self._entry = entry
        self._execution = execution
        self._swarm = swarm
        self._own = _tools(entry.members)
        self._always = self._of_its_own(self._own) if self._is_the_same_for_all else None

    @property
    def _is_the_same_for_all(self) -> bool:
        if self._execution.inherit_parent_tools or self._swarm.can_see_other_agents:
            return False
        return all(
            each.kind != "agent" and each.plan.visible is None and each.plan.authorize is None for each in self._own
        )

    def _of_its_own(self, entries: Iterable[Any]) -> Offer:
        offer = Offer()
        for entry in entries:
            offer.add(entry, entry.name, own=True)
        return offer

    async def to(self, call: Call) -> Offer:
        """What is offered in a call of the agent: nothing that its caller would not find, or be refused anyway.

        :raises CallDepthError: there are more agents above it than one of them allows.
        """
        depth = depth_left(call)
        if self._always is not None:
            return self._always
        server = call.server
        offer = self._of_its_own(await server.pipeline.reachable(call, self._within(depth, self._own), surface="agent"))
        if self._execution.inherit_parent_tools:
            beside = [each for each in _beside(call) if each.kind == "tool" and each not in self._own]
            names = Counter(each.name for each in beside)
            for entry in await server.pipeline.reachable(call, beside, surface="agent", listed=True):
                offer.add(entry, entry.name if names[entry.name] == 1 else entry.listed_name, own=False)
        if self._swarm.can_see_other_agents:
            for entry in await server.pipeline.reachable(
                call, self._within(depth, self._others(call)), surface="agent"
            ):
                offer.add(entry, entry.name, own=False)
        return offer

    def _within(self, depth: int, entries: Iterable[Any]) -> Iterator[Any]:
        return (entry for entry in entries if depth > 0 or entry.kind != "agent")

    def _others(self, call: Call) -> Iterator[Any]:
        """The other agents that stand where this one does, and that it is to see."""
        visible = self._swarm.visible_agents
        for entry in _beside(call):
            if entry.kind != "agent" or entry is self._entry or entry in self._own:
                continue
            if swarm_of(entry).is_visible and (visible is None or not set(visible).isdisjoint(names_of(entry))):
                yield entry


def _beside(call: Call) -> list[Any]:
    """The tools that stand where an agent does."""
    return call.server.tools() if call.scope is None else _tools(call.scope)


def _tools(found: Mapping[str, Any]) -> list[Any]:
    return [each for each in dict.fromkeys(found.values()) if each.list_name == "tools"]


def names_of(entry: Any) -> tuple[str, ...]:
    """The names by which ``visible_agents`` may know an agent."""
    return entry.definition.name, entry.name, entry.id


def swarm_of(entry: Any) -> Swarm:
    """Who an agent sees, and who sees it."""
    swarm: Swarm = entry.options.get("swarm") or Swarm()
    return swarm


def depth_left(call: Call) -> int:
    """How many agents may be beneath this one.

    :raises CallDepthError: it is itself one too many.
    """
    above = [each.entry for each in _lineage(call) if each.entry.kind == "agent"]
    limits = [swarm_of(entry).max_call_depth for entry in above]
    left = min(limit - distance for distance, limit in enumerate(limits))
    if left < 0:
        raise CallDepthError(call.path, min(limits[1:]))
    return left


def _lineage(call: Call | None) -> Iterator[Call]:
    while call is not None:
        yield call
        call = call.parent
