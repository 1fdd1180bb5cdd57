"""frontmcp: MCP servers in which everything that happens to a call is a hook, and the rest is a plugin."""

# The house, highest floor first; a module imports from below it only (tests/test_architecture.py).
#
#   cli, testing      what people touch          plugins          the plugins of a server, hooks compiled
#   direct            the server in-process      claims, loading  who claims which option; who there is
#   server            the composition root       validation       what is wrong with an option, in words
#   assembly          the parts put together     checks           what is wrong with a plugin, in words
#   apps              what a server serves       hooks, chain     Will, Did, Around; one hook compiled
#   configuration     settings from everywhere   hookspecs        every hook there is
#   lifetime          what starts and stops      registry         which entries there are, by name
#   plugin_calls      calls that plugins make    entries          what can be called, kind by kind
#   transports        stdio, HTTP, memory
#   pipeline          the road of a call
#   upstream          servers behind apps
#   asking            the way of a question
#
#   below them: invoke, definitions, providers, contexts, questions, schema, content, changes, interfaces, llm,
#   threads, background, events, call, abort, authentication, arguments, completion, environment, errors, logs,
#   settings

from mcp_types import CallToolResult as CallToolResult

from frontmcp.abort import AbortController as AbortController
from frontmcp.abort import AbortSignal as AbortSignal
from frontmcp.call import Accepted as Accepted
from frontmcp.call import Call as Call
from frontmcp.call import Caller as Caller
from frontmcp.call import CallNext as CallNext
from frontmcp.call import Cancelled as Cancelled
from frontmcp.call import Declined as Declined
from frontmcp.call import RequestContext as RequestContext
from frontmcp.completion import Completion as Completion
from frontmcp.completion import ToolCall as ToolCall
from frontmcp.content import Audio as Audio
from frontmcp.content import File as File
from frontmcp.content import Image as Image
from frontmcp.contexts.agent import AgentContext as AgentContext
from frontmcp.contexts.channel import ChannelContext as ChannelContext
from frontmcp.contexts.job import JobContext as JobContext
from frontmcp.contexts.prompt import PromptContext as PromptContext
from frontmcp.contexts.resource import ResourceContext as ResourceContext
from frontmcp.contexts.tool import ToolContext as ToolContext
from frontmcp.definitions.agent import Agent as Agent
from frontmcp.definitions.app import App as App
from frontmcp.definitions.channel import Channel as Channel
from frontmcp.definitions.job import Job as Job
from frontmcp.definitions.prompt import Prompt as Prompt
from frontmcp.definitions.prompt import PromptArgument as PromptArgument
from frontmcp.definitions.resource import Resource as Resource
from frontmcp.definitions.resource import ResourceTemplate as ResourceTemplate
from frontmcp.definitions.tool import Tool as Tool
from frontmcp.definitions.workflow import Step as Step
from frontmcp.definitions.workflow import Workflow as Workflow
from frontmcp.direct import create_direct as create_direct
from frontmcp.errors import ConfigurationError as ConfigurationError
from frontmcp.errors import FlowControl as FlowControl
from frontmcp.errors import FrontMcpError as FrontMcpError
from frontmcp.errors import InternalMcpError as InternalMcpError
from frontmcp.errors import InvalidInputError as InvalidInputError
from frontmcp.errors import InvalidOutputError as InvalidOutputError
from frontmcp.errors import PublicMcpError as PublicMcpError
from frontmcp.errors import RateLimitError as RateLimitError
from frontmcp.errors import ToolExecutionError as ToolExecutionError
from frontmcp.errors import ToolNotFoundError as ToolNotFoundError
from frontmcp.hooks import Around as Around
from frontmcp.hooks import Did as Did
from frontmcp.hooks import Option as Option
from frontmcp.hooks import Plugin as Plugin
from frontmcp.hooks import Will as Will
from frontmcp.hookspecs import hookimpl as hookimpl
from frontmcp.hookspecs import hookspec as hookspec
from frontmcp.providers import Inject as Inject
from frontmcp.providers import Provider as Provider
from frontmcp.registry import ToolEntry as ToolEntry
from frontmcp.schema import JsonSchema as JsonSchema
from frontmcp.server import FrontMcp as FrontMcp

__all__ = (
    "AbortController",
    "AbortSignal",
    "Accepted",
    "Agent",
    "AgentContext",
    "App",
    "Around",
    "Audio",
    "Call",
    "CallNext",
    "CallToolResult",
    "Caller",
    "Cancelled",
    "Channel",
    "ChannelContext",
    "Completion",
    "ConfigurationError",
    "Declined",
    "Did",
    "File",
    "FlowControl",
    "FrontMcp",
    "FrontMcpError",
    "Image",
    "Inject",
    "InternalMcpError",
    "InvalidInputError",
    "InvalidOutputError",
    "Job",
    "JobContext",
    "JsonSchema",
    "Option",
    "Plugin",
    "Prompt",
    "PromptArgument",
    "PromptContext",
    "Provider",
    "PublicMcpError",
    "RateLimitError",
    "RequestContext",
    "Resource",
    "ResourceContext",
    "ResourceTemplate",
    "Step",
    "Tool",
    "ToolCall",
    "ToolContext",
    "ToolEntry",
    "ToolExecutionError",
    "ToolNotFoundError",
    "Will",
    "Workflow",
    "create_direct",
    "hookimpl",
    "hookspec",
)
