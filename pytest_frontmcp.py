"""The pytest plugin: the fixtures ``mcp``, ``hooks`` and ``mcp_road``, and the marker ``mcp``.

It lies outside of `frontmcp`, and imports of it only where a test asks for a fixture: pytest loads its plugins in every
run of an environment, whatever is tested.
"""

from __future__ import annotations

import logging
from collections.abc import AsyncIterator, Generator, Iterator, Mapping
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

import pytest

if TYPE_CHECKING:
    from frontmcp.server import FrontMcp
    from frontmcp.testing.client import McpClient
    from frontmcp.testing.recorder import HookRecorder
    from frontmcp.testing.roads import Road

ROAD = ("era", "transport")
NO_SERVER = """\
the mcp fixture needs a fixture named "server" that returns your FrontMcp, for example in conftest.py:

    @pytest.fixture
    def server() -> FrontMcp:
        return FrontMcp("help-desk", tools=[close_ticket])
"""


def pytest_configure(config: pytest.Config) -> None:
    config.addinivalue_line(
        "markers",
        "mcp(era=..., transport=...): the protocol version and the transport (memory, stdio, http) of the mcp fixture; "
        "a list of them runs the test over each",
    )


@pytest.hookimpl(tryfirst=True)
def pytest_generate_tests(metafunc: pytest.Metafunc) -> None:
    """Run a test once for each road that its marks name, when one of them names several."""
    if "mcp_road" not in metafunc.fixturenames:
        return
    named = _named(metafunc.definition)
    if any(isinstance(value, list | tuple) for value in named.values()):
        eras, transports = (_as_list(named.get(key)) for key in ("era", "transport"))
        roads = [_road(era=era, transport=transport) for era in eras for transport in transports]
        metafunc.definition.add_marker(pytest.mark.parametrize("mcp_road", roads, ids=str, indirect=True))


def _as_list(value: Any) -> list[Any]:
    return list(value) if isinstance(value, list | tuple) else [value]


def _named(node: Any) -> dict[str, Any]:
    """What the marks of a test say; a nearer one wins, and that of a class over one it inherits."""
    named: dict[str, Any] = {}
    for level in node.listchain():
        for mark in level.own_markers:
            if mark.name == "mcp":
                named.update(_keywords(mark))
    return named


def _keywords(mark: pytest.Mark) -> Mapping[str, Any]:
    if unknown := [*map(repr, mark.args), *sorted(mark.kwargs.keys() - set(ROAD))]:
        from frontmcp.errors import nearest

        hint = nearest(unknown[0], ROAD)
        pytest.fail(f'@pytest.mark.mcp takes era="…" and transport="…" only, not {unknown[0]}{hint}', pytrace=False)
    return mark.kwargs


def _road(**named: Any) -> Road:
    from frontmcp.testing.roads import Road

    try:
        return Road(**{key: value for key, value in named.items() if value is not None})
    except ValueError as error:
        raise pytest.fail.Exception(f"@pytest.mark.mcp: {error}", pytrace=False) from None


@pytest.hookimpl(wrapper=True)
def pytest_runtest_setup(item: pytest.Item) -> Generator[None, None, None]:
    """Say what to write when there is no ``server`` fixture."""
    try:
        yield
    except pytest.FixtureLookupError as error:
        if error.argname != "server" or not {"mcp", "hooks"}.intersection(getattr(item, "fixturenames", ())):
            raise
        raise pytest.fail.Exception(NO_SERVER, pytrace=False) from None


@pytest.fixture
def mcp_road(request: pytest.FixtureRequest) -> Road:
    """The road of the mcp fixture: what ``@pytest.mark.mcp`` says, else the newest protocol version in memory.

    Override it, with params, to run all tests of a module or a directory over several roads.
    """
    from frontmcp.testing.roads import Road

    road = getattr(request, "param", None)
    return road if isinstance(road, Road) else _road(**_named(request.node))


@pytest.fixture
def hooks(server: Any) -> HookRecorder:
    """Every hook that is called on the ``server``, in order."""
    from frontmcp.testing.recorder import HookRecorder
    from frontmcp.testing.users import installed

    recorder = installed(_checked(server), HookRecorder)
    recorder.clear()
    return recorder


@pytest.fixture
async def mcp(
    request: pytest.FixtureRequest, server: Any, mcp_road: Road, anyio_backend_name: str
) -> AsyncIterator[McpClient]:
    """A real MCP client of the ``server`` fixture."""
    from frontmcp.testing.client import connect

    if mcp_road.transport == "http" and anyio_backend_name != "asyncio":
        pytest.skip(f"HTTP is served by uvicorn, which runs on asyncio only, not on {anyio_backend_name}")
    if "hooks" in request.fixturenames:
        request.getfixturevalue("hooks")
    with _stacks_told_once():
        async with connect(_checked(server), mcp_road) as client:
            yield client


@contextmanager
def _stacks_told_once() -> Iterator[None]:
    """Keep tracebacks that results carry out of the log: a failing test would show them twice."""
    log = logging.getLogger("frontmcp.errors")
    log.addFilter(_without_told_stack)
    try:
        yield
    finally:
        log.removeFilter(_without_told_stack)


def _without_told_stack(record: logging.LogRecord) -> bool:
    if getattr(record, "stack_told", False):
        record.exc_info = record.exc_text = None
    return True


def _checked(server: Any) -> FrontMcp:
    from frontmcp.server import FrontMcp

    if not isinstance(server, FrontMcp):
        pytest.fail(f'the fixture "server" must return a FrontMcp, not {server!r}', pytrace=False)
    return server
