"""Every example does what it says, for clients of both protocol eras."""

from __future__ import annotations

import hashlib
import hmac
import importlib.util
import json
import re
import subprocess
import sys
from pathlib import Path
from types import ModuleType
from typing import Any

import anyio
import httpx2
import pytest
from mcp import Client, StdioServerParameters
from mcp_types import TextContent

from frontmcp import FrontMcp
from frontmcp.transports.http import serving

EXAMPLES = Path(__file__).parent.parent / "examples"


def load(name: str) -> ModuleType:
    """A new module of an example: what its server remembers is not shared between tests."""
    spec = importlib.util.spec_from_file_location(f"example_{name}", EXAMPLES / f"{name}.py")
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    sys.modules[spec.name] = module
    spec.loader.exec_module(module)
    return module


@pytest.fixture(params=[pytest.param(era, marks=pytest.mark.mcp(era=era)) for era in ("2025-11-25", "2026-07-28")])
def era(request: pytest.FixtureRequest) -> str:
    """The protocol version of the client that `mcp` is."""
    version: str = request.param
    return version


@pytest.fixture
def example(request: pytest.FixtureRequest) -> ModuleType:
    """The module that `of` names."""
    return load(request.param)


@pytest.fixture
def server(example: ModuleType, era: str) -> FrontMcp:
    made: FrontMcp = example.server
    return made


def of(name: str) -> Any:
    return pytest.mark.parametrize("example", [name], indirect=True)


async def test_a_signed_webhook_opens_a_ticket(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("GITHUB_SECRET", "s3cret")
    server: FrontMcp = load("github_webhook").server
    body = json.dumps({"action": "labeled", "issue": {"number": 7, "title": "Broken"}, "label": {"name": "support"}})
    digest = hmac.new(b"s3cret", body.encode(), hashlib.sha256).hexdigest()
    headers = {"content-type": "application/json", "x-hub-signature-256": f"sha256={digest}"}
    async with serving(server, server.http_options(port=0)) as url, Client(url) as client:
        async with httpx2.AsyncClient() as github:
            answer = await github.post(url.replace("/mcp", "/hooks/github"), content=body, headers=headers)
        assert answer.json() == {"ok": True, "channel": "github"}
        assert (await client.call_tool("list_tickets", {})).structured_content == {"GH-7": "Broken"}
        assert [tool.name for tool in (await client.list_tools()).tools] == ["list_tickets"]
        (events,) = (await client.read_resource("channel://github")).contents
    assert "GH-7 opened: Broken" in events.text  # type: ignore[union-attr]


@of("01_compose")
async def test_a_tool_is_made_of_another(mcp: Any) -> None:
    result = await mcp.tools.call("close_ticket", {"id": "T-1"})
    assert result.json() == {
        "id": "T-1",
        "status": "closed",
        "email": {"message_id": "msg-1042", "to": "dana@acme.example"},
    }


@of("01_compose")
async def test_clients_do_not_see_the_inner_tool(mcp: Any) -> None:
    assert [tool.name for tool in await mcp.tools.list()] == ["close_ticket"]
    result = await mcp.tools.call("email_customer", {"to": "dana@acme.example", "subject": "Hello"})
    result.assert_error("TOOL_NOT_FOUND")


@of("02_handle_a_failure")
@pytest.mark.parametrize(
    ("ticket", "outcome"),
    [
        ("T-1", {"emailed": True}),
        ("T-2", {"emailed": False, "why": "globex.example is refusing our mail."}),
        ("T-3", {"emailed": False, "why": 'Tool "email_customer" execution failed: SMTP timeout'}),
        ("T-4", {"emailed": False, "why": "umbrella.example has no mailbox for ada."}),
    ],
)
async def test_a_caught_failure_becomes_an_answer(mcp: Any, ticket: str, outcome: dict[str, Any]) -> None:
    result = await mcp.tools.call("close_ticket", {"id": ticket})
    assert result.json() == {"id": ticket, "status": "closed", **outcome}


@of("02_handle_a_failure")
async def test_an_uncaught_failure_is_the_outer_tools(mcp: Any) -> None:
    result = await mcp.tools.call("close_ticket_strict", {"id": "T-2"})
    result.assert_error("MAIL_REFUSED")
    assert result.text() == "globex.example is refusing our mail."


@of("03_internal_tools")
async def test_a_tool_reaches_what_clients_do_not(mcp: Any) -> None:
    result = await mcp.tools.call("weekly_digest")
    assert result.json() == {"week": "2026-W39", "open": 12, "closed": 31, "escalated": 2}
    assert [tool.name for tool in await mcp.tools.list()] == ["weekly_digest"]
    (await mcp.tools.call("diagnose")).assert_ok()


@of("03_internal_tools")
@pytest.mark.parametrize("name", ["count_tickets", "desk.count_tickets", "count_escalations"])
async def test_clients_can_not_call_the_building_blocks(mcp: Any, name: str) -> None:
    (await mcp.tools.call(name)).assert_error("TOOL_NOT_FOUND")


@of("04_progress")
async def test_both_tools_progress_reaches_the_client(mcp: Any) -> None:
    result = await mcp.tools.call("export_all")
    assert result.json() == {"files": ["tickets.csv", "customers.csv"], "tickets": {"rows": 43}}
    assert [update.message for update in mcp.notifications.progress()] == ["Exported tickets", "Exported customers"]


@of("05_time_budget")
@pytest.mark.parametrize("name", ["get_ticket", "get_ticket_scoped"])
async def test_the_ticket_comes_without_what_took_too_long(mcp: Any, name: str) -> None:
    result = await mcp.tools.call(name, {"id": "T-1"})
    assert result.json() == {
        "id": "T-1",
        "title": "Cannot log in",
        "history": None,
        "note": "The history took too long to load.",
    }


@of("06_names")
async def test_every_spelling_of_a_name(mcp: Any) -> None:
    assert (await mcp.tools.call("try_names")).json() == {
        "get_ticket": "found",
        "desk:get_ticket": "found",
        "desk.get_ticket": "found",
        "get-ticket": "found",
        "billing:get_ticket": 'Tool "billing:get_ticket" not found',
    }


@of("06_names")
@pytest.mark.parametrize("name", ["desk:get_ticket", "desk.get_ticket", "get-ticket", "desk.get-ticket"])
async def test_a_client_finds_the_same_names(mcp: Any, name: str) -> None:
    assert (await mcp.tools.call(name, {"id": "T-1"})).json() == {"id": "T-1", "status": "open"}
    (await mcp.tools.call("billing.get_ticket", {"id": "T-1"})).assert_error("TOOL_NOT_FOUND")


INVALID_STATUS = "Tool output validation failed (output does not match outputSchema at status)"


@of("07_failures")
async def test_how_each_failure_arrives(mcp: Any) -> None:
    assert (await mcp.tools.call("try_failures")).json()["caught"] == [
        {"flow_control": True, "original": {"message": "There's no ticket T-9.", "code": "NO_TICKET"}},
        {"flow_control": False, "message": INVALID_STATUS, "code": "INVALID_OUTPUT"},
        {"flow_control": False, "message": "Invalid tool input", "code": "INVALID_INPUT"},
        {"flow_control": False, "message": 'Tool "get_tikcet" not found', "code": "TOOL_NOT_FOUND"},
    ]


@of("07_failures")
async def test_an_uncaught_invalid_output_passes_as_it_is(mcp: Any) -> None:
    result = await mcp.tools.call("relay_ticket", {"id": "T-0"})
    result.assert_error("INVALID_OUTPUT")
    assert result.text() == INVALID_STATUS


@of("08_invalid_input")
async def test_the_inner_tools_input_error_reaches_the_model(mcp: Any) -> None:
    result = await mcp.tools.call("reassign_ticket", {"id": "T-1", "to": "Sam"})
    result.assert_error("INVALID_INPUT")
    assert '"agent"' in result.text()
    assert "Sam" not in result.text()


@of("08_invalid_input")
async def test_the_fix_names_the_field_the_model_sent(mcp: Any) -> None:
    result = await mcp.tools.call("reassign_ticket_checked", {"id": "T-1", "to": "Sam"})
    result.assert_error("INVALID_INPUT")
    assert '"to"' in result.text()
    assert '"agent"' not in result.text()
    result = await mcp.tools.call("reassign_ticket_checked", {"id": "T-1", "to": "sam"})
    assert result.json() == {"id": "T-1", "agent": "sam"}


@of("09_audit_plugin")
async def test_the_plugin_sees_inner_calls_too(mcp: Any, example: ModuleType) -> None:
    result = await mcp.tools.call("refund", {"customer": "dana", "amount": 5})
    assert result.json() == {"customer": "dana", "refunded": 5}
    lines = [line.partition(" took ")[0] for line in example.audit.lines]
    announced = [line.rpartition(" calls ")[2] for line in lines[:2]]
    assert announced == ["refund", "refund → book"]
    assert lines[0].startswith("audit: ")
    assert lines[2:] == ["book", "refund"]


@of("09_audit_plugin")
async def test_tools_without_the_option_are_not_seen(mcp: Any, example: ModuleType, server: FrontMcp) -> None:
    assert (await mcp.tools.call("rates")).json() == {"EUR": 1.0, "USD": 1.1}
    assert example.audit.lines == []
    hooks = {step.plugin for steps in server.find("rates").plan.steps.values() for step in steps}
    assert "acme.audit" not in hooks


@of("10_authorities")
async def test_a_policy_holds_for_calls_between_tools_too(mcp: Any) -> None:
    assert [tool.name for tool in await mcp.tools.list()] == ["close_ticket", "weekly_cleanup"]
    (await mcp.tools.call("close_ticket", {"id": "T-1"})).assert_ok()
    (await mcp.tools.call("close_ticket", {"id": "T-2"})).assert_error("AUTHORITY_DENIED")
    result = await mcp.tools.call("weekly_cleanup")
    result.assert_error("AUTHORITY_DENIED")
    assert "profile:admin: roles.any: user has none of 'admin'" in result.text()
    admin = mcp.as_user("root", roles=["admin"])
    assert (await admin.tools.call("weekly_cleanup")).json() == {"purged": 31, "by": "root"}


@of("11_rate_limit")
async def test_inner_calls_use_up_the_limit_of_the_tool_they_call(mcp: Any) -> None:
    (await mcp.tools.call("ticket_summary", {"id": "T-1"})).assert_ok()
    refused = await mcp.tools.call("ticket_summary", {"id": "T-2"})
    refused.assert_error("RATE_LIMIT_EXCEEDED")
    assert re.fullmatch(r"Rate limit exceeded\. Retry after \d+ seconds", refused.text())
    patient = (await mcp.tools.call("patient_summary", {"id": "T-2"})).json()
    assert re.fullmatch(r"Ask again in \d+ seconds\.", patient["note"])


@of("11_rate_limit")
async def test_a_search_that_takes_too_long_is_cut_off(mcp: Any) -> None:
    assert (await mcp.tools.call("search_archive", {"words": "login"})).json() == []
    (await mcp.tools.call("search_archive", {"words": "*"})).assert_error("EXECUTION_TIMEOUT")
    assert (await mcp.tools.call("export_history", {"id": "T-1"})).text() == "T-1.csv"


@of("12_ask_the_client")
async def test_the_client_is_asked_three_things_at_once(mcp: Any) -> None:
    mcp.on_elicitation(lambda message, form: {"queue": "billing", "urgent": True})
    ticket = {"id": "T-44", "queue": "billing", "urgent": True, "title": "I was charged twice.", "files": []}
    assert (await mcp.tools.call("file_ticket", {"text": "I was charged twice."})).json() == ticket
    mcp.on_sampling(lambda messages, params: "Charged twice")
    mcp.on_roots(lambda: ["file:///home/dana"])
    ticket |= {"title": "Charged twice", "files": ["file:///home/dana"]}
    assert (await mcp.tools.call("file_ticket", {"text": "I was charged twice."})).json() == ticket


@of("existing_server")
async def test_a_new_tool_is_built_on_those_of_an_existing_server(mcp: Any) -> None:
    assert (await mcp.tools.call("quote", {"items": ["lamp", "desk"]})).json() == {"available": ["lamp"]}
    assert [tool.name for tool in await mcp.tools.list()] == ["count_stock", "quote"]
    (await mcp.tools.call("delete_item", {"item": "lamp"})).assert_error("AUTHORITY_DENIED")
    admin = mcp.as_user(sub="nour", roles=["admin"])
    assert (await admin.tools.call("delete_item", {"item": "lamp"})).json() == "lamp is gone"


@of("13_triage_agent")
async def test_an_agent_triages_with_a_tool_that_only_it_finds(mcp: Any) -> None:
    assert [tool.name for tool in await mcp.tools.list()] == ["get_ticket", "invoke_triage"]
    triaged = {"priority": "high", "why": "They pay 900.", "ticket": "T-1"}
    assert (await mcp.tools.call("invoke_triage", {"ticket_id": "T-1"})).json() == triaged
    triaged = {"priority": "low", "why": "They pay 20.", "ticket": "T-2"}
    assert (await mcp.tools.call("invoke_triage", {"ticket_id": "T-2"})).json() == triaged
    assert 'Tool get_weather failed: Tool "get_weather" not found' in [log.data for log in mcp.notifications.logs()]
    (await mcp.tools.call("revenue", {"customer": "dana"})).assert_error("TOOL_NOT_FOUND")


@of("14_agents_hand_over")
async def test_an_agent_hands_over_to_one_that_clients_do_not_see(mcp: Any) -> None:
    assert [tool.name for tool in await mcp.tools.list()] == ["invoke_front_desk"]
    answer = await mcp.tools.call("invoke_front_desk", {"query": "Which invoice of dana is open?"})
    assert answer.json() == {"response": "Billing says: 200 are open."}
    answer = await mcp.tools.call("invoke_front_desk", {"query": "My screen is black"})
    assert answer.json() == {"response": "Have you tried turning it off and on?"}


@of("15_a_guarded_agent")
async def test_an_agent_may_do_what_its_caller_may(mcp: Any, example: ModuleType) -> None:
    async def ask(client: Any, query: str) -> str:
        response: str = (await client.tools.call("invoke_support", {"query": query})).json()["response"]
        return response

    model = example.Agent.of(example.Support).options["llm"]["adapter"]
    clerk, manager = mcp.as_user("lee"), mcp.as_user("root", roles=["manager"])
    assert await ask(clerk, "Refund 500") == (
        'Sorry: Access denied to Tool "help-desk:invoke_support/refund": attributes.conditions: '
        "'input.amount' failed 'lte' check against '50'"
    )
    assert model.requests[0].offered == ["refund"], "nobody refuses a refund before its amount is known"
    assert await ask(clerk, "Refund 30") == "I refunded 30."
    assert (await ask(clerk, "Refund 20")).startswith("Sorry: Rate limit exceeded. Retry after ")
    assert await ask(manager, "Refund 500") == "I refunded 500."
    assert model.requests[-1].offered == ["refund", "close_account"]


@of("help_desk")
async def test_the_help_desk_closes_stale_tickets_one_by_one(mcp: Any) -> None:
    result = await mcp.tools.call("close_stale", {"days": 10})
    assert [(each["id"], each["emailed"]) for each in result.json()] == [("T-2", False), ("T-3", True)]
    assert [update.message for update in mcp.notifications.progress()] == ["Closed T-2", "Closed T-3"]
    closed = await mcp.tools.call("list_tickets", {"status": "closed"})
    assert [ticket["id"] for ticket in closed.json()] == ["T-2", "T-3"]


@of("help_desk")
async def test_the_help_desk_fails_in_words_for_a_model(mcp: Any) -> None:
    result = await mcp.tools.call("close_ticket", {"id": "T-9"})
    result.assert_error("NO_TICKET")
    assert result.text() == "There's no ticket T-9."


def test_the_help_desk_of_an_mcp_json_serves_stdio() -> None:
    """What the README tells clients to run, as they run it."""

    async def call() -> str:
        command = StdioServerParameters(command=sys.executable, args=[str(EXAMPLES / "help_desk.py")])
        async with Client(command) as client:
            result = await client.call_tool("close_ticket", {"id": "T-1"})
        (block,) = result.content
        assert isinstance(block, TextContent)
        return block.text

    assert json.loads(anyio.run(call)) == {"id": "T-1", "emailed": True, "note": ""}


def test_the_demo_shows_everything_and_ends() -> None:
    shown = subprocess.run(
        [sys.executable, EXAMPLES / "demo.py"], capture_output=True, text=True, check=False, timeout=60
    )
    assert shown.returncode == 0, shown.stderr
    assert [line[0] for line in shown.stdout.splitlines() if re.match(r"\d  \w", line)] == list("1234567")
    for told in (
        "uvicorn, production",
        "2/2 Closed T-3",
        "check_mailbox",
        "MAIL_REFUSED",
        "NO_TICKET",
        "2025-11-25",
        "mcpServers",
    ):
        assert told in shown.stdout
    client_reads = shown.stdout.partition("whole in the server's log")[0]
    assert "svc_desk" not in client_reads, "a bug's text reaches clients"


@of("background_export")
async def test_an_export_runs_in_the_background_once_for_each_customer(mcp: Any) -> None:
    started = (await mcp.tools.call("start_export", {"customer": "acme"})).json()
    again = (await mcp.tools.call("start_export", {"customer": "acme"})).json()
    assert again["run_id"] == started["run_id"]
    status = await mcp.jobs.wait(started["run_id"])
    assert (status["state"], status["result"]) == ("completed", {"rows": 430})
    assert status["progress"] == {"progress": 430, "total": 430, "message": "Exporting acme"}
    assert [line.split("] ", 1)[1] for line in status["logs"]] == ["430 tickets of acme, attempt 1"]


@of("background_export")
async def test_who_waits_for_an_export_sees_how_far_it_is(mcp: Any) -> None:
    result = await mcp.tools.call("export_now", {"customer": "acme"})
    assert result.json() == {"customer": "acme", "rows": 430}
    told = [update.progress for update in mcp.notifications.progress()]
    assert told == sorted(told)
    assert told[-1] == 430


def test_the_command_line_draws_the_progress_of_a_job() -> None:
    command = [sys.executable, "-m", "frontmcp", "call", str(EXAMPLES / "background_export.py"), "execute_job"]
    given = ["name=export_tickets", 'input={"customer": "globex"}']
    shown = subprocess.run([*command, *given], capture_output=True, text=True, check=False, timeout=60)
    assert shown.returncode == 0, shown.stderr
    assert json.loads(shown.stdout)["result"] == {"rows": 20}
    assert "Exporting globex" in shown.stderr


@of("nightly_report")
async def test_the_nightly_report_is_mailed_also_by_day(mcp: Any, example: ModuleType) -> None:
    result = (await mcp.tools.call("report_now", {"day": "2026-11-30"})).json()
    assert (result["state"], set(result["steps"].values())) == ("completed", {"completed"})
    assert example.OUTBOX == ["31 closed, 12 open; rain"]
    status = await mcp.jobs.wait(result["run_id"])
    assert status["stepResults"]["weather"]["attempt"] == 2


@of("nightly_report")
async def test_the_nightly_report_has_nothing_to_mail_or_no_tickets(mcp: Any, example: ModuleType) -> None:
    quiet = (await mcp.tools.call("report_now", {"day": "2026-11-29"})).json()
    assert (quiet["state"], quiet["steps"]["mail"]) == ("completed", "skipped")
    missing = (await mcp.tools.call("report_now", {"day": "2026-12-24"})).json()
    assert missing["state"] == "failed"
    assert missing["steps"] == {"count": "failed", "weather": "completed", "mail": "skipped"}
    assert example.OUTBOX == []
