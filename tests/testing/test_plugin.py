"""The pytest plugin in a user's project."""

from __future__ import annotations

import subprocess
import sys

import pytest

pytest_plugins = ["pytester"]

AUTO = """
[pytest]
anyio_mode = auto
filterwarnings = error
addopts = --strict-markers --strict-config
"""

SERVER = """
import pytest
from frontmcp import FrontMcp, Tool, ToolContext

@Tool
class Where(ToolContext):
    "Where the call came from"
    async def execute(self) -> str:
        return f"{self.context.protocol_version} {self.context.transport}"

@pytest.fixture
def anyio_backend() -> str:
    return "asyncio"

@pytest.fixture
def server() -> FrontMcp:
    return FrontMcp("desk", tools=[Where])
"""


@pytest.fixture
def project(pytester: pytest.Pytester, monkeypatch: pytest.MonkeyPatch) -> pytest.Pytester:
    for shows_more in ("CI", "BUILD_NUMBER"):
        monkeypatch.delenv(shows_more, raising=False)
    pytester.makeini(AUTO)
    pytester.makeconftest(SERVER)
    return pytester


def outcomes(project: pytest.Pytester, *arguments: str, **wanted: int) -> pytest.RunResult:
    ran = project.runpytest_inprocess("-p", "no:cacheprovider", "-p", "no:hypothesispytest", "-v", *arguments)
    ran.assert_outcomes(**wanted)
    return ran


def test_a_test_asks_for_a_client_and_gets_one(project: pytest.Pytester) -> None:
    project.makepyfile(
        """
        async def test_it(mcp):
            assert (await mcp.tools.call("where")).text() == "2026-07-28 memory"
        """
    )
    outcomes(project, passed=1)


def test_with_anyios_own_mark(project: pytest.Pytester) -> None:
    project.makeini("[pytest]\nfilterwarnings = error\n")
    project.makepyfile(
        """
        import pytest

        @pytest.mark.anyio
        async def test_it(mcp):
            assert (await mcp.tools.call("where")).text() == "2026-07-28 memory"
        """
    )
    outcomes(project, passed=1)


def test_on_both_backends_when_the_project_does_not_choose(project: pytest.Pytester) -> None:
    project.makeconftest(SERVER.replace("def anyio_backend()", "def another()"))
    project.makepyfile(
        """
        import pytest

        @pytest.mark.mcp(transport=["memory", "stdio", "http"])
        async def test_it(mcp):
            assert (await mcp.tools.call("where")).text().endswith(mcp.road.transport)
        """
    )
    ran = outcomes(project, "-rs", passed=5, skipped=1)
    ran.stdout.fnmatch_lines(["*HTTP is served by uvicorn, which runs on asyncio only, not on trio"])


def test_a_mark_chooses_the_road(project: pytest.Pytester) -> None:
    project.makepyfile(
        """
        import pytest

        pytestmark = pytest.mark.mcp(transport="stdio")

        async def test_module(mcp):
            assert (await mcp.tools.call("where")).text() == "2026-07-28 stdio"

        @pytest.mark.mcp(era="2025-11-25")
        async def test_nearer(mcp):
            assert (await mcp.tools.call("where")).text() == "2025-11-25 stdio"

        @pytest.mark.mcp(era="2025-06-18", transport="http")
        class TestClass:
            async def test_class(self, mcp):
                assert (await mcp.tools.call("where")).text() == "2025-06-18 http"

        @pytest.mark.mcp(era="2025-11-25")
        class TestSubclass(TestClass):
            async def test_class(self, mcp):
                assert (await mcp.tools.call("where")).text() == "2025-11-25 http"

        @pytest.mark.parametrize("era", [
            pytest.param("2025-11-25", marks=pytest.mark.mcp(era="2025-11-25")),
            pytest.param("2026-07-28", marks=pytest.mark.mcp(era="2026-07-28")),
        ])
        async def test_parameter(mcp, era):
            assert mcp.road.era == era
        """
    )
    outcomes(project, passed=6)


def test_lists_in_a_mark_are_so_many_tests(project: pytest.Pytester) -> None:
    project.makepyfile(
        """
        import pytest

        @pytest.mark.mcp(era=["2026-07-28", "2025-11-25"], transport=["memory", "stdio"])
        async def test_it(mcp):
            assert (await mcp.tools.call("where")).text() == f"{mcp.road.era} {mcp.road.transport}"
        """
    )
    ran = outcomes(project, passed=4)
    ran.stdout.fnmatch_lines(["*::test_it?2025-11-25-stdio? PASSED*"])


def test_a_directory_can_run_over_several_roads(project: pytest.Pytester) -> None:
    project.makeconftest(
        SERVER
        + """
from frontmcp.testing import Road

@pytest.fixture(params=[Road("2026-07-28", "memory"), Road("2025-11-25", "stdio")], ids=str)
def mcp_road(request):
    return request.param
"""
    )
    project.makepyfile(
        """
        import pytest

        async def test_it(mcp):
            assert (await mcp.tools.call("where")).text() == f"{mcp.road.era} {mcp.road.transport}"

        @pytest.mark.mcp(era=["2025-06-18"])
        async def test_nearer(mcp):
            assert (await mcp.tools.call("where")).text() == "2025-06-18 memory"
        """
    )
    outcomes(project, passed=3)


@pytest.mark.parametrize(
    ("mark", "told"),
    [
        ('era="2026-07-29"', "*there is no era '2026-07-29'; use one of 2026-07-28, 2025-11-25, *"),
        ('transport="sse"', "*there is no transport 'sse'; use one of memory, stdio, http*"),
        ('era=["2026-07-28", "now"]', "*there is no era 'now'; use one of *"),
        ('"stdio"', '*@pytest.mark.mcp takes era="…" and transport="…" only, not \'stdio\'*'),
        ('road="stdio"', '*@pytest.mark.mcp takes era="…" and transport="…" only, not road*'),
        ('eraa="2025-11-25"', '*only, not eraa; did you mean "era"?*'),
    ],
)
def test_a_wrong_mark_is_told(project: pytest.Pytester, mark: str, told: str) -> None:
    project.makepyfile(f"import pytest\n\n@pytest.mark.mcp({mark})\nasync def test_it(mcp): ...\n")
    ran = project.runpytest_inprocess("-p", "no:cacheprovider")
    ran.stdout.fnmatch_lines([told])
    ran.stdout.no_fnmatch_line("*During handling*")


@pytest.mark.parametrize("fixture", ["mcp", "hooks"])
def test_without_a_server_fixture_it_says_what_to_write(project: pytest.Pytester, fixture: str) -> None:
    project.makeconftest("")
    project.makepyfile(f"async def test_it({fixture}): ...")
    ran = project.runpytest_inprocess("-p", "no:cacheprovider", "-k", "asyncio")
    ran.stdout.fnmatch_lines(
        ['*needs a fixture named "server" that returns your FrontMcp*', "*def server() -> FrontMcp:*"]
    )
    ran.stdout.no_fnmatch_line("*During handling*")


def test_a_server_that_is_none_is_told(project: pytest.Pytester) -> None:
    project.makepyfile(
        """
        import pytest

        @pytest.fixture
        def server():
            return "desk"

        async def test_it(mcp): ...
        """
    )
    ran = outcomes(project, errors=1)
    ran.stdout.fnmatch_lines(["*the fixture \"server\" must return a FrontMcp, not 'desk'*"])


def test_a_server_that_can_not_start_is_told(project: pytest.Pytester) -> None:
    project.makepyfile(
        """
        import pytest
        from frontmcp import FrontMcp, Tool

        @pytest.fixture
        def server():
            return FrontMcp("desk", tools=[Tool(name="a", wat=1)(lambda: None)])

        async def test_it(mcp): ...
        """
    )
    ran = outcomes(project, errors=1)
    ran.stdout.fnmatch_lines(['*no plugin claims the option "wat"*'])


def test_servers_of_every_kind(project: pytest.Pytester) -> None:
    """Async, with parameters, in a module that serves it already, with hooks asked for in any order."""
    project.makepyfile(
        desk="""
        from frontmcp import FrontMcp, Tool

        @Tool(description="Ping")
        async def ping() -> str:
            return "pong"

        server = FrontMcp("desk", tools=[ping])
        app = server.http_app()
        """,
        test_desk="""
        import pytest
        import desk
        from frontmcp import FrontMcp

        class TestAModulesServer:
            @pytest.fixture
            def server(self):
                return desk.server

            @pytest.mark.mcp(transport=["memory", "http"])
            async def test_it(self, mcp, hooks):
                assert (await mcp.as_user("nour").tools.call("ping")).text() == "pong"
                assert [each.entry for each in hooks.calls("will_execute")] == ["ping"]
                assert hooks.calls("will_execute")[0].call.caller.sub == "nour"

        class TestAsync:
            @pytest.fixture(params=["one", "two"])
            async def server(self, request):
                server = FrontMcp(request.param)
                await server.add_tool(desk.ping)
                yield server

            async def test_it(self, mcp, hooks, request):
                assert (await mcp.tools.call("ping")).text() == "pong"
                assert len(hooks.calls("will_execute")) == 1
        """,
    )
    outcomes(project, passed=4)


def test_a_failure_shows_the_result(project: pytest.Pytester) -> None:
    project.makepyfile(
        """
        async def test_it(mcp):
            (await mcp.tools.call("nowhere")).assert_ok()
        """
    )
    ran = outcomes(project, failed=1)
    ran.stdout.fnmatch_lines(['E*AssertionError: "nowhere" failed with TOOL_NOT_FOUND: Tool "nowhere" not found*'])


def test_the_mark_is_registered(project: pytest.Pytester) -> None:
    project.runpytest_inprocess("--markers").stdout.fnmatch_lines(["@pytest.mark.mcp(era=..., transport=...)*"])


def modules_after(statement: str) -> set[str]:
    script = f"import sys; {statement}; print(*sys.modules)"
    ran = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True)
    return set(ran.stdout.split())


def test_a_run_that_asks_for_no_fixture_pays_nothing_for_the_plugin() -> None:
    without = modules_after("import pytest")
    assert modules_after("import pytest, pytest_frontmcp") - without == {"pytest_frontmcp"}


def test_the_door_does_not_load_what_is_for_tests() -> None:
    door = modules_after("import frontmcp")
    assert not {name for name in door if name.startswith(("frontmcp.testing", "pytest", "_pytest"))}


def test_the_plugin_has_a_name_for_those_who_load_plugins_by_hand(
    project: pytest.Pytester, monkeypatch: pytest.MonkeyPatch
) -> None:
    project.makepyfile("async def test_it(mcp): assert await mcp.tools.list() is not None\n")
    plugins = ("-p", "anyio", "-p", "frontmcp.testing.plugin")
    monkeypatch.setenv("PYTEST_DISABLE_PLUGIN_AUTOLOAD", "1")
    project.runpytest_subprocess(*plugins, "-p", "no:cacheprovider").assert_outcomes(passed=1)


def test_a_failing_tool_shows_its_own_frames_and_them_once(project: pytest.Pytester) -> None:
    project.makepyfile(
        """
        import pytest
        from frontmcp import FrontMcp, Tool, ToolContext

        @Tool
        def bug() -> str:
            raise ValueError("bang")

        @Tool
        async def outer(self: ToolContext) -> None:
            await self.call_tool("bug", {})

        @pytest.fixture
        def server() -> FrontMcp:
            return FrontMcp("desk", tools=[bug, outer])

        async def test_it(mcp):
            (await mcp.tools.call("outer")).assert_ok()
        """
    )
    shown = outcomes(project, failed=1).stdout.str()
    assert shown.count('raise ValueError("bang")') == 1
    assert shown.count('await self.call_tool("bug", {})') == 1
    assert [line for line in shown.splitlines() if "frontmcp/" in line or "anyio/" in line] == []
