"""What may be a resource or a template, and what is refused when it is defined or when the server starts."""

from __future__ import annotations

import re
from collections.abc import Callable
from datetime import date
from typing import Annotated, Any

import pytest

from frontmcp import App, FrontMcp, Inject, Provider, Resource, ResourceContext, ResourceTemplate, Tool
from frontmcp.errors import ConfigurationError


def problems(*resources: Any, **more: Any) -> list[str]:
    """What keeps a server with these resources from starting."""
    with pytest.raises(ConfigurationError) as caught:
        FrontMcp("desk", resources=resources, **more).check()
    return caught.value.problems


def test_a_function_stays_what_it_is_and_knows_its_definition() -> None:
    @Resource("desk://hours", mime_type="text/plain", size=5)
    def hours() -> str:
        """When we are there."""
        return "9 to 5"

    assert hours() == "9 to 5"
    definition = Resource.of(hours)
    assert (definition.address, definition.name) == ("desk://hours", "hours")
    assert definition.description == "When we are there."
    assert (definition.mime_type, definition.size) == ("text/plain", 5)


@pytest.mark.parametrize("make", [lambda: Resource("a://b"), lambda: ResourceTemplate("a://{b}")])
def test_a_class_is_named_without_the_noun(make: Callable[[], Any]) -> None:
    @make()
    class OpenTicketsResource(ResourceContext):
        def execute(self) -> str:
            return ""

    assert make().of(OpenTicketsResource).name == "open_tickets"


@pytest.mark.parametrize(
    ("define", "complaint"),
    [
        (lambda: Resource("no uri"), "is no URI"),
        (lambda: Resource(""), "is no URI"),
        (lambda: Resource("/path"), "is no URI"),
        (lambda: Resource(7), "is no URI"),  # type: ignore[arg-type]
        (lambda: Resource("a://b\n"), "is no URI"),
        (lambda: Resource("a://{b}"), "has variables; write ResourceTemplate('a://{b}')"),
        (lambda: ResourceTemplate("a://b"), "has no variable; write Resource"),
        (lambda: ResourceTemplate("a://{b"), "is no template"),
        (lambda: ResourceTemplate("a://{b}{c}"), "is no template"),
        (lambda: ResourceTemplate("a://{+b}/{+c}"), "is no template"),
        (lambda: ResourceTemplate("a://{uri}"), "rename the variable"),
        (lambda: Resource("a://b", name="no name"), "is not allowed"),
        (lambda: Resource("a://b", sync="fork"), 'sync=\'fork\' must be "thread" or "inline"'),  # type: ignore[arg-type]
        (lambda: Resource("a://b", cache={"ttl": -1}), "cache= is like"),
        (lambda: Resource("a://b", cache={"scope": "all"}), "cache= is like"),  # type: ignore[typeddict-item]
        (lambda: Resource("a://b", cache={"seconds": 1}), "cache= is like"),  # type: ignore[typeddict-unknown-key]
    ],
)
def test_what_can_not_be_defined(define: Callable[[], Any], complaint: str) -> None:
    with pytest.raises(ConfigurationError, match=re.escape(complaint)):
        define()


def test_a_class_derives_from_the_context() -> None:
    with pytest.raises(ConfigurationError, match="must derive from ResourceContext"):

        @Resource("a://b")
        class Loose:
            pass


@pytest.mark.parametrize(
    ("uri", "body", "complaint"),
    [
        ("a://{id}", "(id, verison)", "the body takes 'verison', which 'a://{id}' does not have as a variable"),
        ("a://{id}{?page}", "(id, page)", "the body requires 'page', which a URI may leave out: give it a default"),
        ("a://b", "(id)", "the body takes 'id', which 'a://b' does not have as a variable"),
    ],
)
def test_the_body_takes_what_the_uri_has(uri: str, body: str, complaint: str) -> None:
    app = App(id="desk")
    app.resource(uri, name="odd")(eval(f"lambda {body[1:-1]}: ''"))
    with pytest.raises(ConfigurationError, match=re.escape(complaint)):
        FrontMcp("desk", apps=[app]).check()


def test_any_subset_of_the_variables_will_do() -> None:
    app = App(id="desk")
    for number, body in enumerate(
        [lambda: "", lambda uri: "", lambda a: "", lambda b, uri: "", lambda **others: "", lambda a, b, page=1: ""]
    ):
        app.resource(f"t{number}://{{a}}/{{b}}{{?page}}", name=f"t{number}")(body)
    FrontMcp("desk", apps=[app]).check()


def test_two_resources_of_one_uri_stop_the_start() -> None:
    def one() -> str:
        return ""

    first, second = App(id="first"), App(id="second")
    first.resource("a://b", name="one")(one)
    second.resource("a://b", name="two")(one)
    first.resource("a://{b}", name="three")(one)
    second.resource("a://{b}", name="four")(one)
    found = problems(apps=[first, second])
    assert len(found) == 2
    assert all("two resources have the URI" in problem and "change one" in problem for problem in found)


def test_two_resources_of_one_name_in_an_app_stop_the_start() -> None:
    app = App(id="desk")
    app.resource("a://b", name="same")(lambda: "")
    app.resource("c://d", name="same")(lambda: "")
    assert "has two resources named" in problems(apps=[app])[0]


def test_a_resource_is_no_tool_and_the_other_way_round() -> None:
    @Resource("a://b")
    def resource() -> str:
        return ""

    @Tool(description="A tool")
    def tool() -> str:
        return ""

    def plain() -> str:
        return ""

    class Bare(ResourceContext):
        pass

    found = problems(tool, plain, Bare, Resource("c://d"), 7, tools=[resource])
    for complaint in (
        "is not decorated with @Resource",
        "has no URI: decorate it with @Resource(uri)",
        "is not a resource: decorate it with @Resource",
        "a Resource(…) that decorates nothing",
        "7 is not a resource",
        "is not decorated with @Tool",
    ):
        assert any(complaint in problem for problem in found), (complaint, found)


def test_what_a_body_asks_to_be_injected_is_provided() -> None:
    class Db:
        pass

    app = App(id="desk")

    @app.resource("a://{b}")
    def read(b: str, db: Annotated[Db, Inject()]) -> str:
        return b

    assert any("Db" in problem for problem in problems(apps=[app]))
    FrontMcp("desk", apps=[app], providers=[Provider(Db, Db)]).check()


def test_a_type_that_a_variable_can_not_have_is_named() -> None:
    app = App(id="desk")

    @app.resource("a://{b}")
    def read(b: Callable[[int], int], day: date | None = None) -> str:
        return ""

    found = problems(apps=[app])
    assert len(found) == 1
    assert "ResourceTemplate" in found[0]


def test_annotations_may_name_what_is_defined_further_down() -> None:
    @ResourceTemplate("a://{b}")
    def read(b: Later) -> str:  # noqa: F821
        return b

    with pytest.raises(ConfigurationError, match="Later"):
        FrontMcp("desk", resources=[read]).check()
