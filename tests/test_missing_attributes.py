"""Names that other frameworks have: an `AttributeError` that says what to write, and nothing else changes."""

from __future__ import annotations

from typing import Any

import pytest

from frontmcp import App, ConfigurationError, FrontMcp, PromptContext, ToolContext
from frontmcp.contexts import base
from frontmcp.server import INSTEAD


class Tool(ToolContext):
    session_id = "own"

    async def execute(self) -> None: ...

    @property
    def info(self) -> Any:
        return {}.missing  # type: ignore[attr-defined]

    @property
    def broken(self) -> Any:
        return [].missing  # type: ignore[attr-defined]


@pytest.mark.parametrize(("name", "use"), base.INSTEAD.items())
def test_a_context_says_what_to_use(name: str, use: str) -> None:
    with pytest.raises(AttributeError) as raised:
        getattr(PromptContext(), name)
    assert str(raised.value) == f"'PromptContext' object has no attribute '{name}'; use {use}"


@pytest.mark.parametrize(("name", "use"), INSTEAD.items())
def test_a_server_says_what_to_use(name: str, use: str) -> None:
    with pytest.raises(AttributeError) as raised:
        getattr(FrontMcp("desk"), name)
    assert str(raised.value) == f"'FrontMcp' object has no attribute '{name}'; use {use}"


def test_what_is_said_can_be_used() -> None:
    for owner, table in ((ToolContext, base.INSTEAD), (FrontMcp, INSTEAD)):
        assert not [name for name in table if hasattr(owner, name)]


@pytest.mark.parametrize(("name", "told"), [("info", "'dict' object"), ("broken", "'list' object"), ("x", "'Tool' ")])
def test_other_attribute_errors_are_as_they_were(name: str, told: str) -> None:
    tool = Tool()
    with pytest.raises(AttributeError, match=told) as raised:
        getattr(tool, name)
    assert "; use" not in str(raised.value)
    assert getattr(tool, name, None) is None
    assert tool.session_id == "own"
    tool.log = 1
    assert tool.log == 1


def test_a_server_among_apps_is_told_how_it_joins() -> None:
    with pytest.raises(ConfigurationError, match=r"joins by App\.from_mcp\(server\)$"):
        FrontMcp("desk", apps=[FrontMcp("other")]).check()
    with pytest.raises(ConfigurationError, match=r"decorated with @App$"):
        App.of(Tool)
