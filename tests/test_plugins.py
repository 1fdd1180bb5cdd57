"""Hooks run in one order, for the entries they concern and no others; plugins extend plugins; blame is exact."""

from __future__ import annotations

import itertools
import types
from collections.abc import Callable, Mapping
from typing import Annotated, Any

import anyio
import pytest
from pydantic import Field

from frontmcp import (
    Agent,
    App,
    Around,
    Call,
    CallNext,
    Did,
    FrontMcp,
    Job,
    Option,
    Plugin,
    Tool,
    ToolContext,
    ToolEntry,
    ToolNotFoundError,
    Will,
    create_direct,
    hookimpl,
    hookspec,
)
from frontmcp.errors import ConfigurationError, InvalidInputError, PluginError, PublicMcpError, ToolExecutionError
from frontmcp.plugins import PluginManager

Log = list[str]


@pytest.fixture(params=["asyncio", "trio"])
def anyio_backend(request: pytest.FixtureRequest) -> str:
    return str(request.param)


@pytest.fixture
def log() -> Log:
    return []


def logging(log: Log, text: str, *, is_async: bool = True) -> Callable[..., Any]:
    """A will or did hook that writes a line."""

    def write(self: Any, call: Call) -> None:
        log.append(text)

    async def write_later(self: Any, call: Call) -> None:
        await anyio.lowlevel.checkpoint()
        log.append(text)

    return write_later if is_async else write


def around(log: Log, text: str) -> Callable[..., Any]:
    async def surround(self: Any, call: Call, call_next: CallNext) -> Any:
        log.append(f"{text} in")
        value = await call_next()
        log.append(f"{text} out")
        return value

    return surround


def plugin(name: str, **hooks: Any) -> Plugin:
    """A plugin made of hooks that were marked."""
    made: Plugin = type(name, (Plugin,), {"name": name, **hooks})()
    return made


@Tool
async def ping() -> str:
    return "pong"


async def call(server: FrontMcp, name: str = "ping", **arguments: Any) -> str:
    async with create_direct(server) as direct:
        return "\n".join(block.text for block in (await direct.call_tool(name, arguments)).content)  # type: ignore[union-attr]


def entry_of(server: FrontMcp, name: str) -> ToolEntry:
    server.check()
    entry = server.find(name)
    assert entry is not None
    return entry


def planned(server: FrontMcp, name: str = "ping") -> Mapping[str, list[str]]:
    """The plugins in the plan of a tool, by hook, built-ins left out."""
    steps = entry_of(server, name).plan.steps
    built_in = {"visibility", "formatting", "progress", "aliasing"}
    own = {hook: [step.plugin for step in found if step.plugin not in built_in] for hook, found in steps.items()}
    return {hook: found for hook, found in own.items() if found}


class TestOrder:
    async def test_zone_then_place_then_priority_then_source(self, log: Log) -> None:
        def write(name: str, **options: Any) -> Any:
            return Will("execute", **options)(logging(log, name, is_async=len(log) % 2 == 0))

        first = plugin(
            "first", b=write("first b"), a=write("first a"), late=write("first late", priority=5),
            soon=write("first soon", priority=-5), last=write("first last", trylast=True),
        )  # fmt: skip
        second = plugin(
            "second", z=write("second z"), first=write("second first", tryfirst=True),
            soonest=write("second soonest", priority=-99),
        )  # fmt: skip
        await call(FrontMcp("desk", tools=[ping], plugins=[first, second]))
        assert log == [
            "second first", "first soon", "first b", "first a", "first late", "second soonest", "second z",
            "first last",
        ]  # fmt: skip

    async def test_a_base_class_runs_before_what_is_derived_of_it(self, log: Log) -> None:
        class Derived(type(plugin("base", z=Will("execute")(logging(log, "base"))))):  # type: ignore[misc]
            a = Will("execute")(logging(log, "derived"))

        await call(FrontMcp("desk", tools=[ping], plugins=[Derived]))
        assert log == ["base", "derived"]

    async def test_the_first_is_the_outermost_wrapper_and_did_runs_in_the_order_of_will(self, log: Log) -> None:
        def hooks(name: str) -> Plugin:
            return plugin(
                name,
                will=Will("execute")(logging(log, f"will {name}")),
                did=Did("execute")(logging(log, f"did {name}", is_async=False)),
                around=Around("execute")(around(log, name)),
            )

        await call(FrontMcp("desk", tools=[ping], plugins=[hooks("a"), hooks("b")]))
        assert log == ["will a", "will b", "a in", "b in", "b out", "a out", "did a", "did b"]

    @pytest.mark.parametrize("order", list(itertools.permutations("abc")))
    async def test_the_operator_orders_plugins(self, log: Log, order: tuple[str, ...]) -> None:
        plugins = [plugin(name, before=Will("execute")(logging(log, name))) for name in "cba"]
        await call(FrontMcp("desk", tools=[ping], plugins=plugins, plugin_order=order))
        assert tuple(log) == order

    async def test_anybody_can_pre_empt_a_default(self) -> None:
        class Shout(Plugin):
            @hookimpl
            def format_result(self, call: Call, value: Any) -> Any:
                return call.format(value.upper())

        assert await call(FrontMcp("desk", tools=[ping], plugins=[Shout])) == "PONG"

    async def test_the_hooks_of_a_tools_class_stand_nearest_to_its_body(self, log: Log) -> None:
        class Base(ToolContext):
            z = Around("execute")(around(log, "base"))

        @Tool(name="own")
        class Own(Base):
            a = Around("execute")(around(log, "own"))
            soon = Around("execute", priority=-1)(around(log, "own soon"))

            async def execute(self) -> str:
                log.append("body")
                return "done"

        plugins = [plugin("p", a=Around("execute")(around(log, "plugin")))]
        assert await call(FrontMcp("desk", tools=[Own], plugins=plugins), "own") == "done"
        inside = ["plugin", "own soon", "base", "own"]
        assert log == [f"{each} in" for each in inside] + ["body"] + [f"{each} out" for each in inside[::-1]]


class TestForms:
    async def test_a_function_a_module_a_class_and_an_instance(self, log: Log) -> None:
        async def function(call: Call) -> None:
            log.append("function")

        module = types.ModuleType("acme_audit")
        module.before = Will("execute")(lambda call: log.append("module"))  # type: ignore[attr-defined]
        instance = plugin("instance", before=Will("execute")(logging(log, "instance")))
        made = type(plugin("class", before=Will("execute")(logging(log, "class"))))
        await call(FrontMcp("desk", tools=[ping], plugins=[Will("execute")(function), module, made, instance]))
        assert log == ["function", "module", "class", "instance"]

    async def test_static_and_class_methods(self, log: Log) -> None:
        class Audit(Plugin):
            @Will("execute")
            @staticmethod
            async def static(call: Call) -> None:
                log.append(call.name)

            @Will("execute")
            @classmethod
            def of_class(cls, call: Call) -> None:
                log.append(cls.__name__)

        await call(FrontMcp("desk", tools=[ping], plugins=[Audit]))
        assert log == ["ping", "Audit"]

    async def test_a_hook_may_leave_arguments_out_or_name_them_otherwise_ordered(self, log: Log) -> None:
        class Audit(Plugin):
            @Will("execute")
            def bare(self) -> None:
                log.append("bare")

            @Around("execute")
            async def swapped(self, call_next: CallNext, call: Call) -> Any:
                log.append(call.name)
                return await call_next()

            @hookimpl
            def format_result(self, value: Any) -> None:
                log.append(value)

        await call(FrontMcp("desk", tools=[ping], plugins=[Audit]))
        assert log == ["bare", "ping", "pong"]

    async def test_two_instances_keep_apart(self, log: Log) -> None:
        class Count(Plugin):
            def __init__(self, name: str) -> None:
                self.name = name

            @Will("execute")
            def before(self, call: Call) -> None:
                log.append(str(self.name))

        await call(FrontMcp("desk", tools=[ping], plugins=[Count("b"), Count("a")]))
        assert log == ["b", "a"]


class TestNarrowing:
    """What a tool does not use is not in its plan."""

    def server(self, *plugins: Any) -> FrontMcp:
        desk = App(id="desk", tools=[Tool(name="get")(_body()), Tool(name="billing_pay", audit=True)(_body())])
        billing = App(id="billing", tools=[Tool(name="pay", audit=False)(_body())])
        claims = plugin("claims")
        claims.options = (Option("audit", bool),)
        return FrontMcp("server", apps=[desk, billing], plugins=[*plugins, claims])

    @pytest.mark.parametrize(
        ("narrowing", "concerned"),
        [
            ({}, {"get", "billing_pay", "pay"}),
            ({"tools": "billing_*"}, {"billing_pay"}),
            ({"tools": "pay"}, {"pay"}),
            ({"tools": "billing:*"}, {"pay"}),
            ({"tools": ["get", "billing:pay"]}, {"get", "pay"}),
            ({"tools": "desk.get"}, set()),
            ({"tools": "GET"}, set()),
            ({"tools": []}, set()),
            ({"option": "audit"}, {"billing_pay", "pay"}),
            ({"option": "audit", "tools": "desk:*"}, {"billing_pay"}),
            ({"kinds": ("tool", "resource")}, {"get", "billing_pay", "pay"}),
            ({"kinds": "resource"}, set()),
        ],
        ids=lambda case: str(sorted(case) if isinstance(case, set) else case),
    )
    @pytest.mark.parametrize("hook", ["will_execute", "check_authorities", "around_execute"])
    def test_a_hook_is_in_the_plans_it_concerns_and_in_no_other(
        self, hook: str, narrowing: Any, concerned: set[str]
    ) -> None:
        async def check(self: Any) -> None: ...
        async def surround(self: Any, call_next: CallNext) -> Any:
            return await call_next()

        function = surround if hook == "around_execute" else check
        server = self.server(plugin("p", f=hookimpl(specname=hook, **narrowing)(function)))
        names = {"get", "billing_pay", "pay"}
        assert {name for name in names if hook in planned(server, name)} == concerned

    def test_will_means_tools_unless_it_says_otherwise(self) -> None:
        server = self.server(
            plugin("tools", a=Will("execute")(logging([], ""))),
            plugin("resources", a=Will("execute", kinds="resource")(logging([], ""))),
        )
        assert planned(server, "get")["will_execute"] == ["tools"]

    def test_an_entry_may_count_as_several_kinds(self) -> None:
        class AgentEntry(ToolEntry):
            kind = "agent"
            kinds = ("agent", "tool")

        server = self.server(plugin("p", a=Will("execute")(logging([], "")), b=hookimpl(
            specname="will_execute", kinds="agent")(logging([], ""))))  # fmt: skip
        entry = entry_of(server, "get")
        entry.__class__ = AgentEntry
        assert [step.plugin for step in server.hooks.steps("will_execute", entry)] == ["p", "p"]

    async def test_the_spelling_that_is_called_does_not_count(self, log: Log) -> None:
        server = self.server(plugin("p", a=Will("execute", tools="billing-pay")(logging(log, "dashed"))))
        await call(server, "billing-pay")
        assert log == []

    def test_an_empty_stage_is_no_stage(self) -> None:
        plan = entry_of(FrontMcp("desk", tools=[ping]), "ping").plan
        assert (plan.will, plan.around, plan.did, plan.guard, plan.authorize) == (None,) * 5


def _body() -> Callable[..., Any]:
    async def body() -> str:
        return "done"

    return body


class TestPlans:
    async def test_are_made_for_tools_that_come(self, log: Log) -> None:
        server = FrontMcp(
            "desk", tools=[ping], plugins=[plugin("p", a=Will("execute", tools="late*")(logging(log, "x")))]
        )
        async with create_direct(server) as direct:
            await server.add_tool(Tool(name="later")(_body()))
            await direct.call_tool("later")
            await direct.call_tool("ping")
        assert log == ["x"]

    async def test_running_calls_keep_theirs(self, log: Log) -> None:
        started, go_on = anyio.Event(), anyio.Event()

        @Tool
        async def slow() -> str:
            started.set()
            await go_on.wait()
            return "done"

        done = plugin("p", after=Did("execute")(logging(log, "did")))
        server = FrontMcp("desk", tools=[slow], plugins=[done])
        async with create_direct(server) as direct, anyio.create_task_group() as group:
            before = entry_of(server, "slow").plan
            group.start_soon(direct.call_tool, "slow")
            await started.wait()
            await server.add_tool(Tool(name="later")(_body()))
            assert entry_of(server, "slow").plan is not before
            await server.remove_tool("slow")
            go_on.set()
        assert log == ["did"]

    def test_a_plugin_that_comes_is_in_them(self) -> None:
        server = FrontMcp("desk", tools=[ping])
        assert planned(server) == {}
        server.add_plugin(plugin("late", a=Will("execute")(logging([], ""))))
        assert planned(server) == {"will_execute": ["late"]}

    def test_defaults_that_a_plugin_writes_count(self) -> None:
        class Defaults(Plugin):
            options = (Option("audit", bool),)

            @hookimpl
            def prepare_entry(self, entry: ToolEntry) -> None:
                entry.options.setdefault("audit", True)

        audited = plugin("audited", a=Will("execute", option="audit")(logging([], "")))
        assert planned(FrontMcp("desk", tools=[ping], plugins=[audited, Defaults]))["will_execute"] == ["audited"]

    def test_preparing_can_be_narrowed(self) -> None:
        prepared: Log = []

        class Prepare(Plugin):
            @hookimpl(tools="ping")
            def prepare_entry(self, entry: ToolEntry) -> None:
                prepared.append(entry.name)

        FrontMcp("desk", tools=[ping, Tool(name="other")(_body())], plugins=[Prepare]).check()
        assert prepared == ["ping"]


class Completions:
    """The hooks of a plugin, for other plugins."""

    @hookspec(kind="first")
    def model_of(self, name: str) -> Any: ...
    @hookspec
    def models(self) -> Any: ...
    @hookspec(kind="first")
    async def complete(self, call: Call, prompt: str) -> Any: ...
    @hookspec
    async def completed(self, call: Call, text: str) -> Any: ...
    @hookspec(kind="wrapper")
    async def around_completion(self, call: Call, prompt: str, call_next: CallNext) -> Any: ...


class Host(Plugin):
    name = "host"

    @hookimpl
    def register_hookspecs(self, manager: PluginManager) -> None:
        manager.add_hookspecs(Completions)


class TestOwnHooks:
    """A plugin brings hooks; another answers them; nothing else is wired."""

    def hooks(self, *plugins: Plugin) -> PluginManager:
        return FrontMcp("desk", tools=[ping], plugins=[*plugins, Host]).hooks

    async def test_answered_by_another_plugin(self, log: Log) -> None:
        class Guest(Plugin):
            @hookimpl
            def model_of(self, name: str) -> str:
                return f"model {name}"

            @hookimpl
            def models(self) -> list[str]:
                return ["a", "b"]

            @hookimpl
            async def complete(self, prompt: str) -> str:
                return prompt.upper()

            @hookimpl
            def completed(self, text: str) -> str:
                return text

            @hookimpl
            async def around_completion(self, prompt: str, call_next: CallNext) -> str:
                return f"<{prompt} {await call_next()}>"

        async def complete() -> str:
            return "done"

        hooks = self.hooks(Guest())
        assert hooks.call("model_of", "x") == "model x"
        assert hooks.call("models") == [["a", "b"]]
        assert await hooks.call("complete", None, "hello") == "HELLO"
        assert await hooks.call("completed", None, "text") == ["text"]
        assert await hooks.call("around_completion", None, "p", complete) == "<p done>"

    async def test_answered_by_nobody(self) -> None:
        async def complete() -> str:
            return "done"

        hooks = self.hooks()
        assert hooks.call("model_of", "x") is None
        assert hooks.call("models") == []
        assert await hooks.call("complete", None, "hello") is None
        assert await hooks.call("completed", None, "text") == []
        assert await hooks.call("around_completion", None, "p", complete) == "done"

    async def test_narrowed_by_the_entry_of_their_call(self) -> None:
        class Guest(Plugin):
            @hookimpl(tools="ping")
            async def complete(self, prompt: str) -> str:
                return "narrowed"

        hooks = self.hooks(Guest())
        made: list[Any] = [types.SimpleNamespace(entry=None)]
        for name in ("ping", "pong"):
            made.append(types.SimpleNamespace(entry=types.SimpleNamespace(name=name, id=f"desk:{name}", kind="tool")))
        assert [await hooks.call("complete", each, "x") for each in made[1:]] == ["narrowed", None]

    def test_what_does_not_exist_is_named_with_the_nearest(self) -> None:
        with pytest.raises(LookupError, match=r'there is no hook "modelof"; did you mean "model_of"\?'):
            self.hooks().call("modelof", "x")

    def test_a_wrong_number_of_arguments(self) -> None:
        with pytest.raises(TypeError, match=r"the hook model_of\(name\) takes 1 arguments, not 2"):
            self.hooks().call("model_of", "x", "y")

    def test_without_the_plugin_that_brings_them_they_do_not_exist(self) -> None:
        class Guest(Plugin):
            @hookimpl
            def model_of(self, name: str) -> None: ...

        with pytest.raises(ConfigurationError, match='there is no hook "model_of"'):
            FrontMcp("desk", plugins=[Guest]).check()

    @pytest.mark.parametrize(
        ("namespace", "said"),
        [
            (types.SimpleNamespace(settled=hookspec(lambda server: None)), 'the hook "settled" exists already'),
            (types.SimpleNamespace(wrap=hookspec(kind="wrapper")(lambda call, call_next: None)), "must be"),
            (object(), "did not find any"),
        ],
    )
    def test_hooks_that_cannot_be_stop_the_start(self, namespace: Any, said: str) -> None:
        class Bad(Plugin):
            name = "bad"

            @hookimpl
            def register_hookspecs(self, manager: PluginManager) -> None:
                manager.add_hookspecs(namespace)

        with pytest.raises(ConfigurationError, match=said) as refused:
            FrontMcp("desk", plugins=[Bad]).check()
        assert refused.value.problems[0].startswith(f'plugin "bad", register_hookspecs ({__file__}:')

    @pytest.mark.parametrize("form", ["sync first", "sync all", "async first", "async all", "wrapper"])
    async def test_an_error_keeps_its_type_and_says_where_it_left(self, form: str) -> None:
        def fail(self: Any) -> None:
            raise KeyError("no")

        async def fail_later(self: Any) -> None:
            raise KeyError("no")

        async def fail_around(self: Any, call_next: CallNext) -> None:
            await call_next()
            raise KeyError("no")

        hook, function, arguments = {
            "sync first": ("model_of", fail, ("x",)),
            "sync all": ("models", fail, ()),
            "async first": ("complete", fail_later, (None, "x")),
            "async all": ("completed", fail, (None, "x")),
            "wrapper": ("around_completion", fail_around, (None, "x", anyio.lowlevel.checkpoint)),
        }[form]
        hooks = self.hooks(plugin("guest", f=hookimpl(specname=hook)(function)))
        with pytest.raises(KeyError) as raised:
            result = hooks.call(hook, *arguments)
            if not form.startswith("sync"):
                await result
        line = function.__code__.co_firstlineno
        assert raised.value.__notes__ == [f'in plugin "guest", hook {hook} ({__file__}:{line})']

    async def test_what_is_surrounded_is_not_the_wrappers_fault(self) -> None:
        async def pass_on(self: Any, call_next: CallNext) -> Any:
            return await call_next()

        async def fail() -> None:
            raise KeyError("mine")

        hooks = self.hooks(plugin("guest", f=hookimpl(specname="around_completion")(pass_on)))
        with pytest.raises(KeyError) as raised:
            await hooks.call("around_completion", None, "x", fail)
        assert not hasattr(raised.value, "__notes__")


class Failing(Plugin):
    """Raises in one hook; of which there may be several."""

    def __init__(self, name: str, error: Exception | None = None) -> None:
        self.name = name
        self.error = error

    def fail(self) -> None:
        if self.error is not None:
            raise self.error


class FailingSync(Failing):
    @hookimpl
    def will_execute(self, call: Call) -> None:
        self.fail()


class FailingAsync(Failing):
    @hookimpl
    async def check_authorities(self, call: Call) -> None:
        self.fail()


class FailingWrapper(Failing):
    @Around("execute")
    async def timed(self, call: Call, call_next: CallNext) -> Any:
        value = await call_next()
        self.fail()
        return value


class TestBlame:
    @pytest.mark.parametrize("culprit", ["a", "b", "c"])
    @pytest.mark.parametrize("kind", [FailingSync, FailingAsync, FailingWrapper])
    async def test_the_instance_that_raised_is_named(self, kind: type[Failing], culprit: str) -> None:
        plugins = [kind(name, ValueError("no") if name == culprit else None) for name in "abc"]
        with pytest.raises(PluginError) as raised:
            await call(FrontMcp("desk", tools=[ping], plugins=plugins))
        assert raised.value.plugin == culprit
        assert isinstance(raised.value.__cause__, ValueError)
        (note,) = raised.value.__cause__.__notes__
        hook = {FailingSync: "will_execute", FailingAsync: "check_authorities", FailingWrapper: "around_execute"}[kind]
        assert note.startswith(f'in plugin "{culprit}", hook {hook} ({__file__}:')

    async def test_a_public_error_stays_and_has_one_note(self) -> None:
        error = PublicMcpError("not today", "CLOSED")
        with pytest.raises(PublicMcpError) as raised:
            await call(FrontMcp("desk", tools=[ping], plugins=[FailingAsync("p", error)]))
        assert raised.value is error
        assert len(error.__notes__) == 1

    async def test_other_wrappers_see_the_error_as_it_was_raised(self, log: Log) -> None:
        class Watch(Plugin):
            @Around("execute")
            async def watch(self, call: Call, call_next: CallNext) -> Any:
                try:
                    return await call_next()
                except ValueError as error:
                    log.append(str(error))
                    return "caught"

        assert (
            await call(FrontMcp("desk", tools=[ping], plugins=[Watch, FailingWrapper("p", ValueError("no"))]))
            == "caught"
        )
        assert log == ["no"]

    @pytest.mark.parametrize("hook", ["around_execute", "guard_call"])
    async def test_no_wrapper_is_blamed_for_the_body(self, hook: str) -> None:
        async def pass_on(self: Any, call_next: CallNext) -> Any:
            return await call_next()

        @Tool
        async def broken() -> None:
            raise ValueError("the body's")

        wrapper = plugin("p", f=hookimpl(specname=hook)(pass_on))
        with pytest.raises(ToolExecutionError) as raised:
            await call(FrontMcp("desk", tools=[broken], plugins=[wrapper]), "broken")
        assert not hasattr(raised.value.__cause__, "__notes__")

    async def test_no_guard_is_blamed_for_bad_arguments(self) -> None:
        class Guard(Plugin):
            @hookimpl
            async def guard_call(self, call: Call, call_next: CallNext) -> Any:
                return await call_next()

        @Tool
        async def wants(id: str) -> None: ...

        with pytest.raises(PublicMcpError, match="Invalid tool input") as raised:
            await call(FrontMcp("desk", tools=[wants], plugins=[Guard]), "wants")
        assert not any("plugin" in note for note in raised.value.__notes__)

    async def test_a_hook_in_a_task_group_is_blamed_for_its_tasks(self) -> None:
        class Gathers(Plugin):
            name = "gathers"

            @Will("execute")
            async def before(self, call: Call) -> None:
                async with anyio.create_task_group() as group:
                    group.start_soon(self._task)

            async def _task(self) -> None:
                raise ValueError("in a task")

        with pytest.raises(PluginError) as raised:
            await call(FrontMcp("desk", tools=[ping], plugins=[Gathers]))
        assert (raised.value.plugin, raised.value.hook) == ("gathers", "will_execute")

    async def test_a_tools_own_hook_is_named_by_the_tool(self) -> None:
        @Tool(name="own")
        class Own(ToolContext):
            @Will("execute")
            async def before(self, call: Call) -> None:
                raise ValueError("no")

            async def execute(self) -> None: ...

        with pytest.raises(PluginError) as raised:
            await call(FrontMcp("desk", tools=[Own]), "own")
        assert raised.value.plugin == "desk:own"


class TestHooksOfAToolsClass:
    async def test_run_for_that_tool_alone_on_the_context_that_runs_the_call(self, log: Log) -> None:
        class Base(ToolContext):
            @Will("execute")
            async def before(self, call: Call) -> None:
                self.seen = call.entry.name

            @Did("execute")
            def after(self) -> None:
                log.append(f"did {self.seen}")

            async def execute(self) -> str:
                return self.seen

        one = Tool(name="one")(type("One", (Base,), {}))
        two = Tool(name="two")(type("Two", (Base,), {}))
        server = FrontMcp("desk", tools=[one, two, ping])
        assert [await call(server, name) for name in ("one", "two", "ping")] == ["one", "two", "pong"]
        assert log == ["did one", "did two"]

    async def test_each_call_has_its_own_context(self) -> None:
        @Tool(name="counted")
        class Counted(ToolContext):
            count = 0

            @Will("execute")
            def before(self) -> None:
                self.count += 1

            async def execute(self) -> int:
                return self.count

        server = FrontMcp("desk", tools=[Counted])
        assert [await call(server, "counted") for _ in range(2)] == ["1", "1"]


class TestRetry:
    class Again(Plugin):
        @Around("execute")
        async def again(self, call: Call, call_next: CallNext) -> Any:
            await call_next()
            return await call_next()

    @pytest.mark.parametrize("will", [False, True])
    async def test_starts_from_the_validated_input_and_what_will_hooks_changed(self, log: Log, will: bool) -> None:
        class Stamp(Plugin):
            @Will("execute")
            def before(self, call: Call) -> None:
                call.input["names"] = [*call.input["names"], "stamp"]
                del call.input["spare"]

        @Tool
        async def grow(ctx: ToolContext, names: list[str], spare: int = 1) -> None:
            log.append(",".join(names) + f" {'spare' in ctx.input}")
            if not will:
                names.append("body")
            ctx.input["names"] = ["replaced"]

        plugins = [Stamp, self.Again] if will else [self.Again]
        await call(FrontMcp("desk", tools=[grow], plugins=plugins), "grow", names=["a"])
        assert log == (["a,stamp False"] * 2 if will else ["a True"] * 2)

    async def test_has_a_new_context(self) -> None:
        seen: list[ToolContext] = []

        @Tool(name="own")
        class Own(ToolContext):
            async def execute(self) -> None:
                seen.append(self)

        await call(FrontMcp("desk", tools=[Own], plugins=[self.Again]), "own")
        assert len({id(each) for each in seen}) == 2


class TestHooksOfTheStart:
    @pytest.mark.parametrize("hook", ["provide_entries", "prepare_entry", "settled"])
    def test_what_one_raises_is_a_problem_with_its_place(self, hook: str) -> None:
        def fail(self: Any) -> None:
            raise KeyError("missing")

        with pytest.raises(ConfigurationError) as refused:
            FrontMcp("desk", tools=[ping], plugins=[plugin("p", f=hookimpl(specname=hook)(fail))]).check()
        line = fail.__code__.co_firstlineno
        assert refused.value.problems == [f"plugin \"p\", fail ({__file__}:{line}): failed: KeyError: 'missing'"]

    def test_what_a_plugin_refuses_is_told_in_its_words(self) -> None:
        def refuse(self: Any) -> None:
            raise ConfigurationError(["one", "two"])

        with pytest.raises(ConfigurationError) as refused:
            FrontMcp(
                "desk", tools=[ping, 42], plugins=[plugin("p", f=hookimpl(specname="prepare_entry")(refuse))]
            ).check()
        assert refused.value.problems[1:] == ["one", "two"]

    async def test_tools_that_a_plugin_provides(self) -> None:
        class Provide(Plugin):
            @hookimpl
            def provide_entries(self, server: Any) -> list[Any]:
                return [ping, Tool(name="later")(_body())]

        assert await call(FrontMcp("desk", plugins=[Provide]), "later") == "done"

    def test_what_is_no_tool_is_a_problem(self) -> None:
        class Provide(Plugin):
            @hookimpl
            def provide_entries(self, server: Any) -> list[Any]:
                return [42, ping]

        with pytest.raises(ConfigurationError, match="42"):
            FrontMcp("desk", plugins=[Provide]).check()


async def test_entry_visible_may_look_at_the_call_as_any_hook_does() -> None:
    class BigTicketsOnly(Plugin):
        name = "test.big"

        @hookimpl
        def entry_visible(self, call: Call, entry: ToolEntry) -> bool:
            return call.listing or (call.entry is entry and call.input["size"] > 1)

    @Tool
    async def ticket(size: int) -> int:
        return size

    async with create_direct(FrontMcp("visible", tools=[ticket], plugins=[BigTicketsOnly])) as direct:
        assert (await direct.call_tool("ticket", {"size": "2"})).structured_content == 2
        with pytest.raises(ToolNotFoundError):
            await direct.call_tool("ticket", {"size": 1})


class TestWhereInputIsWrong:
    """The public text of wrong input names neither tool nor field; logs and tracebacks do, without what was sent."""

    async def test_the_call_and_the_fields_are_noted_once(self) -> None:
        @Tool
        async def inner(to: Annotated[str, Field(pattern="^[a-z]+$")], count: int = 1) -> None: ...

        @Tool
        async def outer(ctx: ToolContext) -> None:
            await ctx.call_tool("inner", {"to": "S3CRET", "count": "s3cret"})

        with pytest.raises(InvalidInputError) as raised:
            await call(FrontMcp("desk", tools=[inner, outer]), "outer")
        assert str(raised.value) == "Invalid tool input"
        (note,) = raised.value.__notes__
        assert note.startswith("in the call outer → inner: to: ")
        assert "; count: Input should be a valid integer" in note
        assert "s3cret" not in note.lower()


async def test_a_hook_for_no_entry_is_compiled_once() -> None:
    class Counts(Plugin):
        name = "counts"
        heard = 0

        @hookimpl
        async def on_emit(self, server: FrontMcp, event: str, payload: Any) -> None:
            self.heard += 1

    counts = Counts()
    server = FrontMcp("desk", plugins=[counts], autoload_plugins=False)
    compiled = server.hooks.chain("on_emit")
    await server.emit("ticket.closed")
    await server.emit("ticket.closed")
    assert counts.heard == 2
    assert server.hooks.chain("on_emit") is compiled


def test_every_plugin_that_fails_at_the_start_is_told_of() -> None:
    @Job
    async def export() -> None: ...

    @Agent(llm={"provider": "openai", "model": "m"})
    def triage() -> str:
        return "hello"

    server = FrontMcp(
        "desk",
        agents=[triage],
        jobs=[export],
        jobs_config={"store": "sqlite:///jobs.db"},
        throttle={"store": "redis://h"},
        autoload_plugins=False,
    )
    with pytest.raises(ConfigurationError) as raised:
        server.check()
    told = "\n".join(raised.value.problems)
    assert [name for name in ("frontmcp-redis", "frontmcp-openai", "frontmcp-dbos") if name in told] == [
        "frontmcp-redis", "frontmcp-openai", "frontmcp-dbos",
    ]  # fmt: skip


def test_what_fails_at_the_start_names_its_plugin_and_the_others_are_asked() -> None:
    class Broken(Plugin):
        @hookimpl
        def settled(self, server: Any) -> None:
            raise RuntimeError("no table")

    class Whole(Plugin):
        @hookimpl
        def settled(self, server: Any) -> None:
            asked.append(server.name)

    asked: list[str] = []
    with pytest.raises(ConfigurationError, match=r'plugin "broken", .*: failed: RuntimeError: no'):
        FrontMcp("desk", plugins=[Broken(), Whole()]).check()
    assert asked == ["desk"]
