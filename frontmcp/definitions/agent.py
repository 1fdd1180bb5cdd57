"""`Agent`: how a model loop is served as a tool."""

from __future__ import annotations

import inspect
import re
from collections.abc import Iterable, Mapping, Sequence
from functools import cached_property
from typing import TYPE_CHECKING, Any, ClassVar, Final

from mcp_types import Icon, ToolAnnotations

from frontmcp.arguments import called, several
from frontmcp.call import Kind
from frontmcp.contexts.agent import AgentContext
from frontmcp.contexts.base import Context
from frontmcp.definitions.base import Definition, Sync
from frontmcp.definitions.body import Body, read_body
from frontmcp.definitions.listed import listed
from frontmcp.definitions.prompt import Prompt
from frontmcp.definitions.resource import Resource, ResourceTemplate
from frontmcp.definitions.tool import Tool
from frontmcp.errors import ConfigurationError
from frontmcp.schema import (
    Input,
    JsonSchema,
    Output,
    SchemaLike,
    input_from_json_schema,
    input_from_shape,
    output_type,
)

if TYPE_CHECKING:
    from frontmcp.definitions.options import (
        AvailableWhen,
        Concurrency,
        Execution,
        Llm,
        RateLimit,
        Swarm,
        Timeout,
        Visibility,
    )

HEAD: Final = 100
"""How much of the instructions stands for a description."""


class Agent(Tool):
    """Serve a class (derived from `AgentContext`) or a function as an agent: the tool ``invoke_<name>``.

    A class without an ``execute`` of its own runs the model's loop, with the input of ``input_schema=``.

    :param llm: ``{"adapter": …}``, or ``{"provider": "openai", "model": …, "api_key": …}``.
    :param name: of the agent; by default the function's name, or the class's in snake_case without ``Agent``.
    :param description: what callers read; by default the docstring, else the beginning of the instructions.
    :param system_instructions: what the model is told before it is asked.
    :param input_schema: as that of `Tool`.
    :param output_schema: what the model's answer is checked against, and is also the tool's, unless an ``execute`` of
        the agent's own says by its annotation that it returns something else.
    :param tools: what the model may call; found by nobody but the agent and its tools.
    :param agents: agents that the model may call; likewise.
    :param resources: what the agent's tools may read; likewise ``prompts``.
    :param exports: those of the above, or their names, that are also served where the agent is.
    :param swarm: which other agents the model may call, and whose models may call this one.
    :param execution: limits of the loop, and what it tells the client.
    :param sync: where the body runs when it is a ``def``.
    :param options: options that plugins claim; one that nobody claims stops the start.
    """

    kind: ClassVar[Kind] = "agent"
    noun: ClassVar[str] = "Agent"
    context_class: ClassVar[type[Context]] = AgentContext

    system_instructions: str | None

    if TYPE_CHECKING:

        def __new__(
            cls,
            *,
            llm: Llm | Mapping[str, Any],
            name: str | None = None,
            description: str | None = None,
            title: str | None = None,
            system_instructions: str | None = None,
            input_schema: SchemaLike | None = None,
            output_schema: Any = None,
            tools: Iterable[Any] = (),
            agents: Iterable[Any] = (),
            resources: Iterable[Any] = (),
            prompts: Iterable[Any] = (),
            exports: Iterable[Any] | Mapping[str, Iterable[Any]] = (),
            swarm: Swarm | None = None,
            execution: Execution | None = None,
            annotations: ToolAnnotations | None = None,
            icons: Sequence[Icon] = (),
            meta: Mapping[str, Any] | None = None,
            tags: Sequence[str] = (),
            sync: Sync = "thread",
            visibility: Visibility | None = None,
            available_when: AvailableWhen | None = None,
            authorities: Any = None,
            rate_limit: RateLimit | None = None,
            concurrency: Concurrency | None = None,
            timeout: Timeout | None = None,
            **options: Any,
        ) -> Agent: ...

    def _configure(
        self,
        *,
        llm: Any = None,
        system_instructions: str | None = None,
        tools: Iterable[Any] = (),
        agents: Iterable[Any] = (),
        resources: Iterable[Any] = (),
        prompts: Iterable[Any] = (),
        exports: Iterable[Any] | Mapping[str, Iterable[Any]] = (),
        swarm: Any = None,
        execution: Any = None,
        tags: Sequence[str] = (),
        **shared: Any,
    ) -> None:
        if not isinstance(llm, Mapping):
            given = "" if llm is None else f", not {called(llm)}"
            raise ConfigurationError(f'Agent: llm= takes {{"adapter": …}} or {{"provider": …}}{given}')
        tags = [*several("tags", tags), "agent"]
        super()._configure(llm=dict(llm), swarm=swarm, execution=execution, tags=tags, **shared)
        self.system_instructions = system_instructions
        own = {"tools": tools, "agents": agents, "resources": resources, "prompts": prompts}
        self.members = [
            listed(target, noun, NOUNS[noun]) for noun, given in own.items() for target in several(noun, given)
        ]
        self.exports = [_exported(each, self.members) for each in _flat(exports)]

    @property
    def entry_name(self) -> str:
        """``invoke_<name>``."""
        return f"invoke_{re.sub(r'[^A-Za-z0-9-]+', '_', self.name).strip('_')}"

    @property
    def description(self) -> str | None:
        """What is given, else the docstring of the agent's own, else how its instructions begin."""
        if self.given_description is not None or self.has_own_body or self.target.__doc__:
            return super().description
        head = " ".join((self.system_instructions or "").split())
        if not head:
            return f"Hand a task to the agent {self.name}."
        return f"Hand a task to the agent {self.name}: {head[:HEAD]}{'…' if len(head) > HEAD else ''}"

    @property
    def has_own_body(self) -> bool:
        """Whether the user wrote what runs; else the loop runs, and nothing but it."""
        return not inspect.isclass(self.target) or getattr(self.target, "execute", None) is not AgentContext.execute

    @cached_property
    def body(self) -> Body:
        if self.has_own_body:
            return read_body(self.target, self.namespace, self.context_class)
        return Body(
            function=self.target.execute,
            is_async=True,
            context_class=self.target,
            context_parameter=None,
            context_type=None,
            injected={},
            fields={},
            others=None,
            returns=Any,
        )

    def _check_parameters(self) -> None:
        # The loop takes whatever the input is.
        if self.has_own_body:
            super()._check_parameters()

    @cached_property
    def input(self) -> Input:  # type: ignore[override]
        """Nothing, where neither ``input_schema=`` nor an ``execute`` says more."""
        if not self.has_own_body and self.input_schema is None:
            return input_from_shape({}, self.name)
        if not self.has_own_body and isinstance(self.input_schema, JsonSchema):
            return input_from_json_schema(self.input_schema, takes_any=True)
        return super().input

    @cached_property
    def answer(self) -> Output | None:
        """What the model's answer is checked against; None when nothing is said of it."""
        return None if self.output_schema is None else self.output_of(self.output_schema)

    @cached_property
    def output(self) -> Output | None:
        """What results are checked against: what a body of the agent's own returns, else the answer."""
        own = output_type(self.body.returns) if self.has_own_body else None
        return self.answer if own is None else self.output_of(own)


NOUNS: Final[Mapping[str, tuple[type[Definition], ...]]] = {
    "tools": (Tool,),
    "agents": (Agent,),
    "resources": (Resource, ResourceTemplate),
    "prompts": (Prompt,),
}
"""What may be listed under a keyword of `Agent`."""


def _flat(exports: Iterable[Any] | Mapping[str, Iterable[Any]]) -> list[Any]:
    if isinstance(exports, Mapping):
        return [each for noun, part in exports.items() for each in several(f"exports: {noun}", part)]
    return several("exports", exports)


def _exported(given: Any, members: Sequence[Definition]) -> Definition:
    """The member that ``exports=`` names, or lists as it is listed elsewhere."""
    for member in members:
        if given in (member.name, member.entry_name) or given is member or given is member.target:
            return member
    names = [member.name for member in members]
    raise ConfigurationError(
        f"Agent: exports= has {given!r}, which is none of its own: {', '.join(names) or 'nothing'}"
    )
