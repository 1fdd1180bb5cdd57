"""What `Tool` may decorate, and what it takes from there."""

from __future__ import annotations

import dataclasses
import functools
import traceback
from collections.abc import Callable
from typing import Annotated, Any

import pytest
from mcp_types import TextContent, ToolAnnotations
from pydantic import BaseModel, Field

from frontmcp import (
    App,
    ConfigurationError,
    FrontMcp,
    Image,
    InvalidOutputError,
    Tool,
    ToolContext,
    ToolExecutionError,
    create_direct,
)
from frontmcp.definitions.app import as_definition
from frontmcp.definitions.base import snake_case


@Tool
async def get_ticket(id: str) -> dict[str, str]:
    """Get one ticket.

    By its id.
    """
    return {"id": id}


@Tool
class CloseTicketTool(ToolContext):
    """Close a ticket."""

    async def execute(self, id: str) -> str:
        return f"closed {id}"


@Tool(name="own.name-1", title="Own", description="Mine", tags=["a"], meta={"x": 1}, sync="inline", visibility="hidden")
def configured() -> str:
    return "done"


class Adder:
    """Add two numbers."""

    def __call__(self, a: int, b: int = 1) -> int:
        return a + b

    async def twice(self, a: int) -> int:
        """Twice as much."""
        return 2 * a


def scale(a: int, by: int) -> int:
    """Scale a number."""
    return a * by


def logged(function: Callable[..., Any]) -> Callable[..., Any]:
    @functools.wraps(function)
    def wrapper(*args: Any, **kwargs: Any) -> Any:
        return function(*args, **kwargs)

    return wrapper


@logged
async def wrapped(a: int) -> int:
    """Wrapped."""
    return a


# Names and descriptions


@pytest.mark.parametrize(
    ("name", "expected"),
    [
        ("CloseTicket", "close_ticket"),
        ("HTTPServer", "http_server"),
        ("GetURL2Load", "get_url2_load"),
        ("close", "close"),
        ("A", "a"),
    ],
)
def test_a_class_name_in_snake_case(name: str, expected: str) -> None:
    assert snake_case(name) == expected


def test_a_function_gives_its_name_and_docstring() -> None:
    tool = Tool.of(get_ticket)
    assert tool.name == "get_ticket"
    assert tool.description == "Get one ticket.\n\nBy its id."


def test_a_class_gives_its_name_without_tool_and_its_docstring() -> None:
    tool = Tool.of(CloseTicketTool)
    assert tool.name == "close_ticket"
    assert tool.description == "Close a ticket."


def test_a_class_called_tool_keeps_its_name() -> None:
    @Tool
    class Tool_(ToolContext):
        async def execute(self) -> None:
            """From the method."""

    assert Tool.of(Tool_).name == "tool_"
    assert Tool.of(Tool_).description == "From the method."


def test_what_is_given_goes_before() -> None:
    tool = Tool.of(configured)
    assert (tool.name, tool.title, tool.description) == ("own.name-1", "Own", "Mine")
    assert (tool.tags, tool.meta, tool.sync, tool.options) == (("a",), {"x": 1}, "inline", {"visibility": "hidden"})


def test_a_tool_without_docstring_has_no_description() -> None:
    def silent() -> None: ...

    assert Tool.from_callable(silent).description is None


@pytest.mark.parametrize("name", ["", "a b", "a:b", "ä", "x" * 129, "a/b", "a\n"])
def test_a_name_of_other_characters_is_refused_at_once(name: str) -> None:
    with pytest.raises(ConfigurationError, match="1 to 128 of the characters"):
        Tool(name=name)


@pytest.mark.parametrize("name", ["a", "A.b-c_d", "x" * 128, "1"])
def test_a_name_of_the_right_characters_is_taken(name: str) -> None:
    assert Tool(name=name).name == name


def test_a_lambda_needs_a_name() -> None:
    with pytest.raises(ConfigurationError, match=r"'<lambda>' is not allowed.*give it a name="):
        as_definition(lambda: 1)


# What may be decorated


def test_the_decorated_thing_stays_usable_as_itself() -> None:
    assert get_ticket.__name__ == "get_ticket"
    assert configured() == "done"
    assert isinstance(CloseTicketTool(), ToolContext)


async def test_a_decorated_function_can_be_called_in_a_test() -> None:
    assert await get_ticket("T-1") == {"id": "T-1"}
    assert await CloseTicketTool().execute("T-1") == "closed T-1"


def test_a_subclass_does_not_have_its_parents_definition() -> None:
    class Sub(CloseTicketTool):
        pass

    with pytest.raises(ConfigurationError, match=r"Sub .*is not decorated with @Tool"):
        Tool.of(Sub)
    with pytest.raises(ConfigurationError, match=r"Sub .*is not a tool: decorate it with @Tool"):
        as_definition(Sub)


def test_a_decorated_subclass_has_its_own() -> None:
    @Tool
    class Sub(CloseTicketTool):
        pass

    assert Tool.of(Sub).name == "sub"
    assert Tool.of(CloseTicketTool).name == "close_ticket"


@pytest.mark.parametrize(
    ("target", "named"),
    [
        (type("Plain", (), {}), "must derive from ToolContext"),
        (3, "decorates a class or a function, not 3"),
        ("get_ticket", r"did you mean Tool\(name='get_ticket'\)\?"),
        (Adder().twice, "can't be decorated"),
    ],
)
def test_anything_else_is_refused(target: Any, named: str) -> None:
    with pytest.raises(ConfigurationError, match=named):
        Tool()(target)


def test_one_definition_decorates_one_thing() -> None:
    tool: Tool = Tool(name="once")
    tool(lambda: 1)
    with pytest.raises(ConfigurationError, match="already decorates"):
        tool(lambda: 2)


def test_sync_is_one_of_two_words() -> None:
    with pytest.raises(ConfigurationError, match='sync=\'process\' must be "thread" or "inline"'):
        Tool(sync="process")  # type: ignore[call-overload]


@pytest.mark.parametrize("returns", [Image, list[Image], TextContent, "Image"])
def test_an_output_schema_beside_content_is_refused_at_definition(returns: Any) -> None:
    def f() -> Any: ...

    f.__annotations__["return"] = returns
    with pytest.raises(ConfigurationError, match=r'Tool "f" .*output_schema= beside a content type'):
        Tool(output_schema={"a": int})(f)


def test_a_return_type_without_schema_says_how_to_go_on() -> None:
    class Own:
        def __init__(self, x: int) -> None: ...

    def f() -> list[Own]: ...

    tool = Tool.from_callable(f)
    with pytest.raises(ConfigurationError, match=r"output schema: .*annotate it with Any to serve it without a schema"):
        tool.build()


def no_self() -> Any:
    @Tool
    class Broken(ToolContext):
        def execute() -> None: ...  # type: ignore[misc]


def static() -> Any:
    @Tool
    class Broken(ToolContext):
        @staticmethod
        def execute() -> None: ...


def without() -> Any:
    @Tool
    class Broken(ToolContext):
        pass


def with_init() -> Any:
    @Tool
    class Broken(ToolContext):
        def __init__(self, db: int) -> None: ...

        async def execute(self) -> None: ...


def positional() -> Any:
    @Tool
    def broken(a: int, /) -> None: ...


def many() -> Any:
    @Tool
    def broken(*args: int) -> None: ...


def yields() -> Any:
    @Tool
    def broken() -> Any:
        yield 1


async def async_yields() -> Any:
    @Tool
    async def broken() -> Any:
        yield 1


def method() -> Any:
    class Desk:
        @Tool
        def broken(self) -> None: ...


@pytest.mark.parametrize(
    ("define", "named"),
    [
        (no_self, "its first parameter is self"),
        (static, "execute must be a plain method"),
        (without, "has no method execute"),
        (with_init, "__init__ takes arguments"),
        (positional, "parameter 'a' can't be given by name"),
        (many, "parameter 'args' can't be given by name"),
        (yields, "the body yields"),
        (method, "it is a method"),
    ],
)
def test_a_body_that_can_not_run_is_refused_at_definition(define: Callable[[], Any], named: str) -> None:
    with pytest.raises(ConfigurationError) as refused:
        define()
    assert named in str(refused.value)
    assert 'Tool "broken" (' in str(refused.value)


async def test_an_async_generator_is_refused_too() -> None:
    with pytest.raises(ConfigurationError, match="the body yields"):
        await async_yields()


# What may be listed under tools=


adder = Adder()
LISTED = [
    (get_ticket, "get_ticket", "Get one ticket.\n\nBy its id.", {"id": "T"}, {"id": "T"}),
    (CloseTicketTool, "close_ticket", "Close a ticket.", {"id": "T"}, None),
    (scale, "scale", "Scale a number.", {"a": 2, "by": 3}, 6),
    (functools.partial(scale, by=5), "scale", "Scale a number.", {"a": 2}, 10),
    (functools.partial(scale, 3), "scale", "Scale a number.", {"by": 2}, 6),
    (adder, "adder", "Add two numbers.", {"a": 2}, 3),
    (adder.twice, "twice", "Twice as much.", {"a": 2}, 4),
    (wrapped, "wrapped", "Wrapped.", {"a": 2}, 2),
    (Tool(name="named")(functools.partial(scale, by=1)), "named", "Scale a number.", {"a": 2}, 2),
    (Tool.from_callable(adder.twice), "twice", "Twice as much.", {"a": 2}, 4),
]


@pytest.mark.parametrize(("target", "name", "description", "arguments", "structured"), LISTED)
async def test_what_may_be_listed_is_called_and_described(
    target: Any, name: str, description: str, arguments: dict[str, Any], structured: Any
) -> None:
    async with create_direct(FrontMcp("s", tools=[target])) as direct:
        (listed,) = await direct.list_tools()
        assert (listed.name, listed.description) == (name, description)
        assert set(arguments) <= set(listed.input_schema["properties"])
        assert (await direct.call_tool(name, arguments)).structured_content == structured


@pytest.mark.parametrize(
    ("target", "named"),
    [
        (Adder, "is not a tool: decorate it with @Tool"),
        (3, "3 is not a tool"),
        (Tool(name="nothing"), "decorates nothing"),
    ],
)
def test_what_is_no_tool_is_refused(target: Any, named: str) -> None:
    with pytest.raises(ConfigurationError, match=named):
        as_definition(target)


def test_what_is_no_tool_stops_the_start_and_not_the_import() -> None:
    server = FrontMcp("s", tools=[Adder, 3, scale])
    with pytest.raises(ConfigurationError) as refused:
        server.check()
    assert len(refused.value.problems) == 2


async def test_hints_icons_tags_and_meta_are_listed() -> None:
    @Tool(annotations=ToolAnnotations(read_only_hint=True), tags=["a", "b"], meta={"own": 1}, title="Title")
    async def f() -> None: ...

    async with create_direct(FrontMcp("s", apps=[App(id="a", tools=[f])])) as direct:
        (listed,) = await direct.list_tools()
    assert listed.annotations == ToolAnnotations(read_only_hint=True)
    assert listed.title == "Title"
    assert listed.meta == {"own": 1, "frontmcp/tags": ["a", "b"]}


def annotated(header: Any, annotation: Any = str) -> Any:
    return Annotated[annotation, Field(json_schema_extra={"x-mcp-header": header})]


@pytest.mark.parametrize(
    ("shape", "named"),
    [
        ({"a": annotated("")}, "'a'.* is not an RFC 9110 token"),
        ({"a": annotated("a b")}, "'a'.* is not an RFC 9110 token"),
        ({"a": annotated(1)}, "'a'.* must be a string"),
        ({"a": annotated("A", float)}, "only permitted on integer/string/boolean"),
        ({"a": annotated("A", str | None)}, "only permitted on integer/string/boolean"),
        ({"a": list[annotated("A")]}, "not reachable"),
        ({"a": annotated("Region"), "b": annotated("region")}, "duplicates property"),
    ],
)
def test_a_parameter_that_can_be_no_header_stops_the_start(shape: Any, named: str) -> None:
    @Tool(input_schema=shape)
    async def f(**arguments: Any) -> None: ...

    with pytest.raises(ConfigurationError, match=f"input schema: .*{named}"):
        FrontMcp("s", tools=[f]).check()


async def test_parameters_that_are_headers_are_listed_as_such() -> None:
    class Place(BaseModel):
        zone: Annotated[int, Field(json_schema_extra={"x-mcp-header": "Zone"})]

    @Tool
    async def f(
        place: Place, region: Annotated[str, Field(json_schema_extra={"x-mcp-header": "Region"})] = ""
    ) -> None: ...

    async with create_direct(FrontMcp("s", tools=[f])) as direct:
        (listed,) = await direct.list_tools()
    properties = listed.input_schema["properties"]
    assert properties["region"]["x-mcp-header"] == "Region"
    assert properties["place"]["properties"]["zone"]["x-mcp-header"] == "Zone"


class Connection:
    """A class that is no data."""


@dataclasses.dataclass
class Holder:
    connection: Connection


@pytest.mark.parametrize(
    "annotation", [Connection, Connection | None, list[Connection], dict[str, Connection], Holder, list[Holder]]
)
def test_a_parameter_of_a_plain_class_is_named_with_both_fixes(annotation: Any) -> None:
    async def count(connection: Any, rows: int = 1) -> int:
        return rows

    count.__annotations__["connection"] = annotation
    with pytest.raises(ConfigurationError) as refused:
        FrontMcp("s", tools=[count]).check()
    said = str(refused.value)
    assert said.startswith('Tool "count" (') and f"({__file__}:" in said
    assert said.endswith(
        "parameter 'connection': Connection can't be read from JSON: make it a pydantic model or a dataclass, "
        "or let a provider give it: Annotated[Connection, Inject()], and Provider(Connection) in providers="
    )


def test_a_result_with_a_plain_class_is_named_with_its_fix() -> None:
    async def find() -> list[Connection]:
        return []

    with pytest.raises(
        ConfigurationError, match="Connection can't be read from JSON: make it a pydantic model"
    ) as told:
        FrontMcp("s", tools=[find]).check()
    assert "Inject" not in str(told.value)


def misspelt() -> Any:
    class Misspelt(ToolContext):
        async def excute(self) -> None: ...

    return Misspelt


def without_self() -> Any:
    class WithoutSelf(ToolContext):
        async def execute(x: int) -> None: ...  # type: ignore[misc]

    return WithoutSelf


def computed() -> Any:
    class Computed(ToolContext):
        @property
        def execute(self) -> int:
            return 1

        def other(self) -> None: ...

    return Computed


def with_a_context() -> Any:
    class WithAContext(ToolContext):
        async def execute(self, ctx: ToolContext) -> None: ...

    return WithAContext


def with_two_contexts() -> Any:
    async def two(a: ToolContext, b: ToolContext | None = None) -> None: ...

    return two


def of_a_class() -> Any:
    class Clerk:
        def method(self, x: int) -> None: ...

    return Clerk.method


def with_a_callback() -> Any:
    async def callback(f: Callable[[int], int]) -> None: ...

    return callback


@pytest.mark.parametrize(
    ("make", "said"),
    [
        (misspelt, "the class has no method execute; rename its excute to execute"),
        (without_self, "execute is a method: its first parameter is self"),
        (computed, "execute must be a plain method, whose first parameter is self"),
        (with_a_context, "parameter 'ctx': in a class the context is self; drop it"),
        (with_two_contexts, "parameters 'a' and 'b' both take the context; drop one"),
        (of_a_class, "it is a method: list it bound, as tools=[thing.method], and undecorated"),
        (with_a_callback, "parameter 'f': it is of a type that JSON has nothing for"),
    ],
)
def test_a_body_that_can_not_be_served_is_told_with_its_place_and_the_fix(make: Any, said: str) -> None:
    with pytest.raises(ConfigurationError) as refused:
        FrontMcp("s", tools=[Tool()(make())]).check()
    assert str(refused.value).startswith('Tool "') and f"({__file__}:" in str(refused.value)
    assert str(refused.value).endswith(f": {said}")


@pytest.mark.parametrize(
    ("keywords", "said"),
    [
        ({"tags": "billing"}, "tags= takes a list, not an object of str"),
        ({"icons": "icon.png"}, "icons= takes a list, not an object of str"),
        ({"description": 3}, "description= is text, not an object of int"),
        ({"title": ["Billing"]}, "title= is text, not an object of list"),
        ({"input_schema": {"type": "object", "properties": {}}}, "a schema goes into JsonSchema({…})"),
        ({"output_schema": {"type": "object", "properties": {}}}, "a schema goes into JsonSchema({…})"),
    ],
)
def test_keywords_of_the_wrong_kind_are_told(keywords: dict[str, Any], said: str) -> None:
    async def body(**kwargs: Any) -> Any: ...

    with pytest.raises(ConfigurationError) as refused:
        FrontMcp("s", tools=[Tool(**keywords)(body)]).check()
    assert said in str(refused.value)


async def test_a_context_may_be_optional() -> None:
    @Tool
    async def named(ctx: ToolContext | None = None, other: int = 1) -> str:
        assert ctx is not None
        return ctx.name

    async with create_direct(FrontMcp("s", tools=[named])) as direct:
        (listed,) = await direct.list_tools()
        assert set(listed.input_schema["properties"]) == {"other"}
        (block,) = (await direct.call_tool("named")).content
    assert isinstance(block, TextContent) and block.text == "named"


@pytest.mark.parametrize("annotation", [int, list[int]])
async def test_a_result_that_does_not_fit_says_why_but_not_what_it_was(annotation: Any) -> None:
    async def body() -> Any:
        return ["s3cret"] if annotation is not int else "s3cret"

    body.__annotations__["return"] = annotation
    async with create_direct(FrontMcp("s", tools=[body])) as direct:
        with pytest.raises(InvalidOutputError) as told:
            await direct.call_tool("body")
    assert any("Input should be a valid integer" in note for note in told.value.__notes__)
    assert "input_value" not in "".join(traceback.format_exception(told.value))


async def test_a_key_error_says_that_it_is_one() -> None:
    @Tool
    async def lookup() -> Any:
        return {}["id"]

    async with create_direct(FrontMcp("s", tools=[lookup])) as direct:
        with pytest.raises(ToolExecutionError) as told:
            await direct.call_tool("lookup")
    assert str(told.value) == "Tool \"lookup\" execution failed: KeyError: 'id'"
