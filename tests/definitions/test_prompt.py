"""What may be a prompt, how its arguments are listed, and what is refused."""

from __future__ import annotations

import re
from typing import Annotated, Any, Literal

import pytest
from pydantic import Field

from frontmcp import App, FrontMcp, Prompt, PromptArgument, PromptContext, ResourceTemplate
from frontmcp.errors import ConfigurationError


def problem(app: App) -> str:
    with pytest.raises(ConfigurationError) as caught:
        FrontMcp("desk", apps=[app]).check()
    assert len(caught.value.problems) == 1
    return caught.value.problems[0]


def test_a_bare_decorator_takes_everything_from_the_function() -> None:
    @Prompt
    async def handover(
        ctx: PromptContext,
        id: Annotated[str, Field(description="Ticket id")],
        tone: Literal["short", "long"] = "short",
        to: str | None = None,
    ) -> str:
        """Write a handover note."""
        return id

    definition = Prompt.of(handover)
    assert (definition.name, definition.description) == ("handover", "Write a handover note.")
    assert definition.arguments == [
        PromptArgument("id", "Ticket id", True),
        PromptArgument("tone"),
        PromptArgument("to"),
    ]


def test_given_arguments_are_listed_as_they_are() -> None:
    given = [PromptArgument(name="id", description="Ticket id", required=True), PromptArgument("note")]

    @Prompt(name="handover_note", arguments=given)
    class Handover(PromptContext):
        async def execute(self, id: str, note: str = "") -> str:
            return id + note

    assert Prompt.of(Handover).arguments == given
    FrontMcp("desk", prompts=[Handover]).check()


@pytest.mark.parametrize(
    ("arguments", "complaint"),
    [
        ([PromptArgument("id")], "the body requires 'id', which arguments= lacks or does not require"),
        ([], "the body requires 'id'"),
        ([PromptArgument("id", required=True), PromptArgument("nope")], "the body has no parameter for 'nope'"),
    ],
)
def test_arguments_and_body_fit(arguments: list[PromptArgument], complaint: str) -> None:
    app = App(id="desk")
    app.prompt(name="odd", arguments=arguments)(lambda id, note="": id)
    assert complaint in problem(app)


@pytest.mark.parametrize(
    ("arguments", "complaint"),
    [
        ([PromptArgument("id"), PromptArgument("id")], "has 'id' twice"),
        (["id"], "takes PromptArgument(name, …) objects"),
        ([PromptArgument("")], "takes PromptArgument(name, …) objects"),
    ],
)
def test_arguments_that_are_none(arguments: list[Any], complaint: str) -> None:
    with pytest.raises(ConfigurationError, match=re.escape(complaint)):
        Prompt(arguments=arguments)


def test_two_apps_may_have_a_prompt_of_one_name_but_one_app_may_not() -> None:
    first, second = App(id="first"), App(id="second")
    first.prompt(name="same")(lambda: "")
    second.prompt(name="same")(lambda: "")
    server = FrontMcp("desk", apps=[first, second])
    server.check()
    first.prompt(name="other")(lambda: "")
    with pytest.raises(ConfigurationError, match="has two prompts named"):
        first.prompt(name="other")(lambda: "")


class TestCompleters:
    def test_complete_without_an_argument_is_refused(self) -> None:
        @Prompt
        async def handover(id: str) -> str:
            return id

        with pytest.raises(ConfigurationError, match=r'complete names no argument for .*ids; write complete\("id"\)'):

            @Prompt.of(handover).complete  # type: ignore[arg-type]
            def ids(value: str) -> list[str]:
                return [value]

    def test_what_is_decorated_gets_complete(self) -> None:
        @Prompt
        async def handover(id: str) -> str:
            return id

        @Prompt.of(handover).complete("id")
        def ids(value: str) -> list[str]:
            return [value]

        assert handover.complete("id") is not None  # type: ignore[attr-defined]
        assert ids("x") == ["x"]
        with pytest.raises(ConfigurationError, match="'id' has two completers"):
            handover.complete("id")(ids)  # type: ignore[attr-defined]

    def test_a_subclass_has_its_own_and_a_users_method_stays(self) -> None:
        @Prompt
        class Base(PromptContext):
            async def execute(self, id: str) -> str:
                return id

        @Prompt
        class Derived(Base):
            pass

        @Prompt
        class Own(PromptContext):
            def complete(self) -> str:
                return "mine"

            async def execute(self, id: str) -> str:
                return id

        Derived.complete("id")(lambda value: [])  # type: ignore[attr-defined]
        assert list(Prompt.of(Derived).completers) == ["id"]
        assert list(Prompt.of(Base).completers) == []
        assert Own().complete() == "mine"

    @pytest.mark.parametrize(
        ("argument", "completer", "complaint"),
        [
            ("nope", lambda value: [], "complete('nope')"),
            ("id", lambda prefix: [], "it takes prefix, but is given value and arguments"),
        ],
    )
    def test_what_completes_nothing_stops_the_start(self, argument: str, completer: Any, complaint: str) -> None:
        app = App(id="desk")

        @app.prompt
        async def handover(id: str) -> str:
            return id

        Prompt.of(handover).complete(argument)(completer)
        assert complaint in problem(app)

    def test_a_template_has_them_for_its_variables(self) -> None:
        @ResourceTemplate("tickets://{id}")
        def ticket() -> str:
            return ""

        ResourceTemplate.of(ticket).complete("name")(lambda value: [])
        with pytest.raises(ConfigurationError, match="there is no such argument, only 'id'"):
            FrontMcp("desk", resources=[ticket]).check()
