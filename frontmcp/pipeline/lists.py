"""Lists: the entries that a caller may see, by the same decision that a call meets (architecture §2)."""

from __future__ import annotations

import logging
from collections.abc import Mapping
from contextlib import suppress
from typing import Any, Final

from frontmcp.call import Call, RequestContext, Runner, Surface, Undecided
from frontmcp.chain import run_step
from frontmcp.pipeline.failures import is_cancellation
from frontmcp.pipeline.plan import Plan
from frontmcp.registry import Entry, ListName, Registry

logger = logging.getLogger("frontmcp.pipeline")

ORIGINS: Final[Mapping[str, Any]] = {"resource_template": "resource"}
"""Where the calls of a body come from, when that is not its kind."""


class Lists:
    """The lists of one server.

    :param runner: of the calls that ask whether an entry may be listed.
    """

    def __init__(self, runner: Runner, registry: Registry) -> None:
        self._runner = runner
        self._registry = registry
        self._shared_lists: dict[ListName, list[tuple[str, Any]] | None] = {}

    def forget(self) -> None:
        """The registry or the plans have changed."""
        self._shared_lists.clear()

    async def list_entries(
        self, list_name: ListName, request: RequestContext, *, surface: Surface | None = "mcp"
    ) -> list[tuple[str, Any]]:
        """The entries of a list that a caller may see, with what they are listed under, sorted by that."""
        shared = self.shared_list(list_name)
        if shared is not None:
            return shared
        entries = self._registry.of_list(list_name)
        seen = [entry for entry in entries if await self._may_list(entry, request, surface)]
        return self._registry.listed(list_name, seen)

    def shared_list(self, list_name: ListName) -> list[tuple[str, Any]] | None:
        """The list that is the same for every caller; None when it depends on them."""
        if list_name not in self._shared_lists:
            entries = self._registry.of_list(list_name)
            same = all(entry.plan.visible is None and entry.plan.authorize is None for entry in entries)
            self._shared_lists[list_name] = self._registry.listed(list_name, entries) if same else None
        return self._shared_lists[list_name]

    async def _may_list(self, entry: Entry, request: RequestContext, surface: Surface | None) -> bool:
        plan: Plan = entry.plan
        if plan.visible is None and plan.authorize is None:
            return True
        call = Call(self._runner, request, entry.name, {}, request.caller)
        call.kind, call.surface, call.listing, call.entry, call.plan = entry.sought, surface, True, entry, plan
        return await self._passes(call)

    async def may_reach(self, parent: Call, entry: Entry, surface: Surface | None, *, listed: bool) -> bool:
        """Whether a call made by a body would find an entry, and not be refused whatever its arguments are.

        :param listed: and whether a list shows it.
        """
        plan: Plan = entry.plan
        if plan.visible is None and plan.authorize is None:
            return True
        call = parent.inner(entry.name, {}, ORIGINS.get(parent.entry.kind, parent.entry.kind), surface)
        call.kind, call.entry, call.plan, call.listing = entry.sought, entry, plan, listed
        return await self._passes(call)

    async def _passes(self, call: Call) -> bool:
        """Whether an entry is visible, and no policy refuses it that needs no arguments."""
        entry, plan = call.entry, call.plan
        try:
            if plan.visible is not None and False in plan.visible(call, entry):
                return False
            call.listing = True
            for step in plan.steps.get("check_authorities", ()):
                with suppress(Undecided):
                    await run_step(step, call)
        except BaseException as error:
            if is_cancellation(error):
                raise
            if not getattr(error, "public", False):
                logger.exception("a policy failed for %s; it is not listed", entry.id)
            return False
        return True
