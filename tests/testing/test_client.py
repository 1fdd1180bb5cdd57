"""The client of the mcp fixture: a real one, on the road that the test chose, as the user that it chose."""

from __future__ import annotations

import asyncio
from typing import Any

import anyio
import httpx2
import psutil
import pytest
from mcp import Client, MCPError
from pydantic import BaseModel

from frontmcp import App, FrontMcp, Tool, ToolContext
from frontmcp.errors import MissingCapabilityError
from frontmcp.testing import ERAS, TRANSPORTS, Road, connect
from frontmcp.testing.users import HEADER


class Sure(BaseModel):
    sure: bool


@Tool(description="Who, from where, in which version")
class Report(ToolContext):
    async def execute(self) -> dict[str, Any]:
        caller = self.auth
        return {
            "sub": caller.user.sub,
            "email": caller.user.email,
            "roles": list(caller.roles),
            "permissions": list(caller.permissions),
            "scopes": list(caller.scopes),
            "claims": dict(caller.claims),
            "anonymous": caller.is_anonymous,
            "transport": self.context.transport,
            "era": self.context.protocol_version,
            "environment": self.call.server.environment,
        }


@Tool(description="Ask")
class Ask(ToolContext):
    async def execute(self) -> str:
        await self.notify("asking")
        return type(await self.elicit("Sure?", Sure)).__name__


@pytest.fixture
def server() -> FrontMcp:
    return FrontMcp("desk", apps=[App(id="desk", tools=[Report, Ask])])


@pytest.mark.mcp(era=["2026-07-28", "2025-11-25", "2025-06-18", "2024-11-05"], transport=TRANSPORTS)
class TestOnEveryRoad:
    async def test_it_speaks_the_version_over_the_transport(self, mcp: Any) -> None:
        report = (await mcp.tools.call("report")).json()
        assert (report["era"], report["transport"]) == (mcp.road.era, mcp.road.transport)
        assert report["environment"] == "development"

    async def test_users_are_apart_from_each_other_and_from_nobody(self, mcp: Any) -> None:
        nour = mcp.as_user("nour", roles=["admin"], permissions=["purge"], scopes=["desk"], email="nour@desk.example")
        ali = mcp.as_user("ali", claims={"tenant": "acme"})
        reports = [(await client.tools.call("report")).json() for client in (nour, ali, mcp, nour)]
        assert [report["sub"] for report in reports[:2]] == ["nour", "ali"]
        assert reports[0] == reports[3]
        assert [reports[0][key] for key in ("roles", "permissions", "scopes", "email", "anonymous")] == [
            ["admin"], ["purge"], ["desk"], "nour@desk.example", False,
        ]  # fmt: skip
        assert reports[1]["claims"] == {"tenant": "acme"}
        assert reports[2]["anonymous"]


async def test_users_hear_their_own_notifications_only(mcp: Any) -> None:
    nour = mcp.as_user("nour")
    nour.on_elicitation(lambda message, form: "cancel")
    (await nour.tools.call("ask")).assert_ok()
    assert {log.data for log in nour.notifications.logs()} == {"asking"}
    assert mcp.notifications.all() == []


@pytest.mark.mcp(transport="http")
@pytest.mark.parametrize("claim", ["nour", "x", ""])
async def test_nobody_can_claim_to_be_a_user(mcp: Any, claim: str) -> None:
    mcp.as_user("nour", roles=["admin"])
    async with httpx2.AsyncClient(headers={HEADER: claim}) as http:
        answer = await http.post(
            mcp.url,
            headers={
                "accept": "application/json, text/event-stream",
                "mcp-protocol-version": "2026-07-28",
                "mcp-method": "tools/call",
                "mcp-name": "report",
            },
            json={
                "jsonrpc": "2.0",
                "id": 1,
                "method": "tools/call",
                "params": {
                    "name": "report",
                    "_meta": {
                        "io.modelcontextprotocol/protocolVersion": "2026-07-28",
                        "io.modelcontextprotocol/clientCapabilities": {},
                    },
                },
            },
        )
    assert '"anonymous":true' in answer.json()["result"]["content"][0]["text"]


class TestOnElicitation:
    @pytest.mark.parametrize(
        ("reply", "answered"), [({"sure": True}, "Accepted"), ("decline", "Declined"), ("cancel", "Cancelled")]
    )
    async def test_a_function_answers(self, mcp: Any, reply: Any, answered: str) -> None:
        mcp.on_elicitation(lambda message, form: reply)
        assert (await mcp.tools.call("ask")).text() == answered

    async def test_an_async_function_answers_and_is_given_the_question(self, mcp: Any) -> None:
        @mcp.on_elicitation
        async def reply(message: str, form: dict[str, Any]) -> Any:
            await anyio.sleep(0)
            assert (message, list(form["properties"])) == ("Sure?", ["sure"])
            return {"sure": True}

        assert (await mcp.tools.call("ask")).text() == "Accepted"
        assert await reply("Sure?", {"properties": {"sure": {}}}) == {"sure": True}

    async def test_the_last_one_answers_and_none_takes_it_back(self, mcp: Any) -> None:
        for reply, answered in (("decline", "Declined"), ("cancel", "Cancelled")):
            mcp.on_elicitation(lambda message, form, reply=reply: reply)
            assert (await mcp.tools.call("ask")).text() == answered
        mcp.on_elicitation(None)
        (await mcp.tools.call("ask")).assert_error("ELICITATION_NOT_SUPPORTED")

    @pytest.mark.mcp(era=["2026-07-28", "2025-11-25"])
    async def test_what_it_raises_is_raised_by_the_call(self, mcp: Any) -> None:
        def reply(message: str, form: dict[str, Any]) -> Any:
            raise LookupError("not in the script")

        mcp.on_elicitation(reply)
        with pytest.raises(LookupError, match="not in the script"):
            await mcp.tools.call("ask")

    @pytest.mark.mcp(era=["2026-07-28", "2025-11-25"])
    @pytest.mark.parametrize("reply", ["yes", None, True, ["sure"]])
    async def test_what_is_no_answer_is_refused(self, mcp: Any, reply: Any) -> None:
        mcp.on_elicitation(lambda message, form: reply)
        with pytest.raises(TypeError, match='"decline" or "cancel", not'):
            await mcp.tools.call("ask")


class TestTheConnection:
    async def test_the_sdk_client_is_beneath(self, mcp: Any) -> None:
        sdk = await mcp.connect()
        assert isinstance(sdk, Client)
        assert sdk is await mcp.connect()

    async def test_after_a_disconnect_there_is_another(self, mcp: Any) -> None:
        first = await mcp.connect()
        (await mcp.tools.call("report")).assert_ok()
        await mcp.disconnect()
        await mcp.disconnect()
        assert await mcp.connect() is not first
        (await mcp.tools.call("report")).assert_ok()

    async def test_it_can_be_opened_inside_any_scope(self, mcp: Any) -> None:
        with anyio.move_on_after(5):
            (await mcp.as_user("nour").tools.call("report")).assert_ok()
        with anyio.fail_after(5):
            (await mcp.tools.call("report")).assert_ok()

    async def test_two_calls_at_once_share_one(self, mcp: Any) -> None:
        async with anyio.create_task_group() as group:
            for _ in range(3):
                group.start_soon(mcp.tools.call, "report")
        assert len([client for client in mcp._hub.clients if client._sdk is not None]) == 1


class TestConnect:
    """The fixture without pytest."""

    async def test_it_takes_a_road(self, server: FrontMcp) -> None:
        async with connect(server, Road("2025-11-25", "stdio")) as mcp:
            assert (await mcp.tools.call("report")).json()["era"] == "2025-11-25"

    async def test_the_default_is_memory_and_the_newest_version(self, server: FrontMcp) -> None:
        async with connect(server) as mcp:
            assert mcp.road == Road(ERAS[0], "memory")
            assert mcp.url is None

    async def test_one_server_is_served_again_and_again(self, server: FrontMcp) -> None:
        server.http_app()
        for transport in (*TRANSPORTS, *TRANSPORTS):
            async with connect(server, Road(transport=transport)) as mcp:
                report = (await mcp.as_user("nour").tools.call("report")).json()
                assert (report["sub"], report["environment"]) == ("nour", "development")
        assert server.environment == "development"

    @pytest.mark.parametrize("transport", TRANSPORTS)
    async def test_a_server_that_was_served_before_tells_of_changes_again(
        self, server: FrontMcp, transport: str
    ) -> None:
        for name in ("first", "second"):
            async with connect(server, Road(transport=transport)) as mcp:
                sdk = await mcp.connect()
                with anyio.fail_after(5):
                    async with sdk.listen(tools_list_changed=True) as changes:
                        await server.add_tool(Tool(name=name)(lambda: None))
                        assert await anext(aiter(changes))

    @pytest.mark.parametrize("transport", TRANSPORTS)
    async def test_nothing_is_left_behind(self, server: FrontMcp, transport: str) -> None:
        async def once(vanishing: bool) -> tuple[int, int]:
            async with connect(server, Road("2025-11-25", transport)) as mcp:
                for client in (mcp, mcp.as_user("nour")):
                    (await client.tools.call("report")).assert_ok()
                if vanishing:
                    await client.disconnect()
            return len(asyncio.all_tasks()), psutil.Process().num_fds()

        before = await once(False)
        for vanishing in (True, False, True):
            after = await once(vanishing)
        assert all(now <= then for now, then in zip(after, before, strict=True)), (before, after)

    @pytest.mark.parametrize("given", [{"era": "2026"}, {"transport": "carrier pigeon"}])
    def test_a_road_that_is_none_is_refused(self, given: dict[str, str]) -> None:
        with pytest.raises(ValueError, match=r"there is no (era|transport) '.*'; use one of"):
            Road(**given)

    @pytest.mark.parametrize("transport", TRANSPORTS)
    async def test_what_is_raised_inside_comes_out_as_it_is(self, server: FrontMcp, transport: str) -> None:
        with pytest.raises(LookupError):
            async with connect(server, Road(transport=transport)) as mcp:
                await mcp.connect()
                raise LookupError


class Tokens:
    async def verify_token(self, token: str) -> None:
        return None


@Tool(authorities={"roles": {"any": ["admin"]}})
async def purge() -> str:
    return "purged"


@Tool
async def sample() -> str:
    raise MissingCapabilityError({"sampling": {}})


@pytest.mark.parametrize("transport", TRANSPORTS)
@pytest.mark.parametrize("era", ["2026-07-28", "2025-11-25"])
async def test_a_denial_that_scopes_would_help_is_a_result_on_every_road(era: str, transport: str) -> None:
    server = FrontMcp(
        "desk",
        tools=[purge],
        auth={"verifier": Tokens()},
        authorities={"scope_mapping": {"roles": {"admin": ["desk:admin"]}}},
    )
    async with connect(server, Road(era, transport)) as mcp:
        result = await mcp.as_user("ali").tools.call("purge")
        result.assert_error("AUTHORITY_DENIED")
        assert result.text().startswith('Access denied to Tool "desk:purge"')
        assert result.raw.meta["data"]["requiredScopes"] == ["desk:admin"]
        (await mcp.as_user("nour", roles=["admin"]).tools.call("purge")).assert_ok()


async def test_what_the_client_can_not_do_stays_an_error_of_the_protocol() -> None:
    async with connect(FrontMcp("desk", tools=[sample]), Road("2026-07-28", "http")) as mcp:
        with pytest.raises(MCPError):
            await mcp.tools.call("sample")
