"""``frontmcp list`` and ``frontmcp plugins``: what a server has."""

from __future__ import annotations

import inspect
import json
from collections.abc import Container, Iterable, Iterator, Mapping, Sequence
from importlib.metadata import version
from typing import Any, Final, NamedTuple

from frontmcp.call import Caller, RequestContext
from frontmcp.chain import Step
from frontmcp.cli.failures import UsageFailure, shown
from frontmcp.cli.output import columns
from frontmcp.definitions.base import as_execute
from frontmcp.errors import FrontMcpError, nearest
from frontmcp.loading import plugin_name
from frontmcp.plugins import PluginInfo
from frontmcp.registry import Entry, ListName, ToolEntry
from frontmcp.server import FrontMcp
from frontmcp.settings import shown as shown_settings

Json = dict[str, Any]

STAGES: Final[Mapping[str, tuple[str, ...]]] = {
    "resolve": ("resolve_tool", "entry_visible"),
    "authorize": ("check_authorities",),
    "guard": ("guard_call",),
    "validate": (),
    "will": ("will_execute",),
    "execute": ("around_execute",),
    "did": ("did_execute",),
    "format": ("format_result",),
    "any time": ("on_progress", "on_notify", "on_error"),
}
"""The hooks of each stage of a call, in the order of the journey."""


# Lists

LISTS: Final[Mapping[ListName, str]] = {
    "tools": "tools",
    "resources": "resources",
    "templates": "resourceTemplates",
    "prompts": "prompts",
}
"""What a client can list, and where the protocol's results have it."""

BEHIND: Final[tuple[ListName, ...]] = ("jobs", "workflows", "channels")
"""What stands behind tools and resources that a client can list."""


class Listed(NamedTuple):
    """An entry, under what it is listed as; with the reason, when a client does not see it."""

    list_name: ListName
    address: str
    entry: Entry
    mark: str = ""


async def listed(server: FrontMcp, caller: Caller, everything: bool) -> list[Listed]:
    """What a client sees; with ``everything``, also what it does not."""
    found = []
    async with server.running():
        for name in (*LISTS, *BEHIND) if everything else LISTS:
            seen = await server.pipeline.list_entries(name, RequestContext(caller, "cli"))
            of_list = [Listed(name, address, entry) for address, entry in seen]
            if everything:
                of_list += _unlisted(server, caller, name, {entry.id for _, entry in seen})
            found += sorted(of_list, key=lambda each: each.address)
    return found


def _unlisted(server: FrontMcp, caller: Caller, name: ListName, seen: Container[str]) -> Iterator[Listed]:
    registry = server.pipeline.registry
    others = [entry for entry in registry.of_list(name) if entry.id not in seen]
    for address, entry in registry.listed(name, others):
        yield Listed(name, address, entry, _why_unlisted(server, caller, entry))
    for entry in _owned(server):
        if entry.list_name == name:
            yield Listed(name, entry.id, entry, f"of {entry.owner.name}")


def _owned(server: FrontMcp) -> Iterator[Any]:
    """What is found by its owner only."""
    return (entry for entry in server.entries() if entry.owner is not None)


def _why_unlisted(server: FrontMcp, caller: Caller, entry: Any) -> str:
    visibility = entry.options.get("visibility")
    if visibility in ("hidden", "internal"):
        return str(visibility)
    call = server.plugin_calls.new_call(entry, caller=caller, origin="client", surface="mcp")
    call.listing = True
    try:
        server.pipeline.find(call)
    except FrontMcpError:
        return "not available here"
    return "not for this caller"


def listed_as_text(found: Iterable[Listed]) -> str:
    rows = [(_kind(each), each.address, _described(each)) for each in found]
    return columns([("KIND", "NAME", "DESCRIPTION"), *rows]) if rows else "there is nothing that a client sees"


def _kind(each: Listed) -> str:
    return "agent" if each.entry.kind == "agent" else each.list_name.removesuffix("s")


def _described(each: Listed) -> str:
    first_line = (each.entry.definition.description or "(no description)").partition("\n")[0]
    return f"[{each.mark}] {first_line}" if each.mark else first_line


def listed_as_json(found: Iterable[Listed]) -> str:
    """The lists as the protocol has them, and what stands behind them; what is not listed has a ``mark``."""
    lists: dict[str, list[Json]] = {key: [] for key in LISTS.values()}
    for each in found:
        told = _told(each)
        listed = lists.setdefault(LISTS.get(each.list_name, each.list_name), [])
        listed.append({**told, "mark": each.mark} if each.mark else told)
    return to_json(lists)


def _told(each: Listed) -> Json:
    if each.list_name == "channels":
        return {"name": each.address, "description": each.entry.definition.description}
    told = each.entry.wire(name=each.address, modern=True)
    return told.model_dump(mode="json", by_alias=True, exclude_none=True) if each.list_name in LISTS else dict(told)


def to_json(data: Json) -> str:
    return json.dumps(data, indent=2)


# Plugins


def plugins_report(server: FrontMcp) -> list[Json]:
    """Every plugin that was met, in the order in which they run, with the settings given to it."""
    return [
        {
            "name": info.name,
            "version": _version(info),
            "origin": info.origin,
            "status": info.status,
            "reason": info.reason,
            "place": info.place,
            "hooks": info.hooks,
            "settings": _settings_of(server, info),
        }
        for info in sorted(server.plugins.infos, key=lambda info: (info.place, info.status))
    ]


def _settings_of(server: FrontMcp, info: PluginInfo) -> list[Json]:
    return [
        {"name": name, "value": value, "from": source}
        for name, value, source in shown_settings(server.settings, plugin_name)
        if info.is_active and server.plugins.claims.owner(name.partition(".")[0]) == info.name
    ]


def _version(info: PluginInfo) -> str | None:
    if info.origin == "built-in":
        return version("frontmcp")
    return info.distribution.rpartition(" ")[2] if info.distribution is not None else None


def plugins_as_text(report: Sequence[Json]) -> str:
    rows = [("PLACE", "NAME", "VERSION", "ORIGIN", "STATUS", "HOOKS")]
    for plugin in report:
        status = f"{plugin['status']} ({plugin['reason']})" if plugin["reason"] else plugin["status"]
        hooks = ", ".join(plugin["hooks"]) or "-"
        rows.append((str(plugin["place"]), plugin["name"], plugin["version"] or "-", plugin["origin"], status, hooks))
    settings = [
        (each["name"], plugin["name"], each["value"], each["from"]) for plugin in report for each in plugin["settings"]
    ]
    if not settings:
        return columns(rows)
    return f"{columns(rows)}\n\n{columns([('SETTING', 'OF', 'VALUE', 'FROM'), *settings])}"


# The plan of a tool


async def plan_report(server: FrontMcp, name: str) -> Json:
    """The plan of one tool: each stage with its hooks in order. The tools of other servers are found by starting.

    :raises UsageFailure: there is no such tool.
    """
    entry = _tool(server, name)
    if entry is None and server.has_other_servers:
        async with server.running():
            entry = _tool(server, name)
    if entry is None:
        names = [name for tool in server.tools() for name in (tool.name, tool.listed_name)]
        raise UsageFailure(f'there is no tool "{name}"{nearest(name, names)} (frontmcp list --all shows what there is)')
    steps: dict[str, list[Step]] = {"resolve_tool": server.hooks.steps("resolve_tool"), **entry.plan.steps}
    stages = [
        {"stage": stage, "hooks": [_hook(step) for hook in hooks for step in steps.get(hook, ())]}
        for stage, hooks in STAGES.items()
    ]
    return {"tool": entry.id, "body": body_place(entry), "stages": stages}


def _tool(server: FrontMcp, name: str) -> Any:
    return server.find(name) or next((each for each in _owned(server) if each.id == name), None)


def _hook(step: Step) -> Json:
    return {"hook": step.hook, "plugin": step.plugin, "place": _shown_place(step.place)}


def _shown_place(place: str) -> str:
    file, _, line = place.rpartition(":")
    return f"{shown(file)}:{line}"


def body_place(entry: ToolEntry) -> str | None:
    code = getattr(inspect.unwrap(as_execute(entry.definition.target)), "__code__", None)
    return f"{shown(code.co_filename)}:{code.co_firstlineno}" if code is not None else None


CORE: Final = {"validate": "input schema", "execute": "the tool itself"}


def plan_as_text(report: Json) -> str:
    rows = [("STAGE", "HOOK", "PLUGIN", "PLACE")]
    for stage in report["stages"]:
        name = stage["stage"]
        rows += [(name, hook["hook"], hook["plugin"], hook["place"]) for hook in stage["hooks"]]
        if name in CORE:
            rows.append((name, CORE[name], "-", report["body"] or "-" if name == "execute" else "-"))
        elif not stage["hooks"]:
            rows.append((name, "-", "-", "-"))
    return f"{report['tool']}\n\n{columns(rows)}"
