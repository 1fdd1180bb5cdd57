"""Testing a server with a real MCP client: the fixtures ``mcp`` and ``hooks`` of the pytest plugin, and their parts."""

from frontmcp.testing.backends import HttpModelBackend as HttpModelBackend
from frontmcp.testing.client import McpClient as McpClient
from frontmcp.testing.client import Notifications as Notifications
from frontmcp.testing.client import connect as connect
from frontmcp.testing.durability import DurableEngineKit as DurableEngineKit
from frontmcp.testing.guards import GuardStoreKit as GuardStoreKit
from frontmcp.testing.jobs import JobEngineKit as JobEngineKit
from frontmcp.testing.models import ModelAdapterKit as ModelAdapterKit
from frontmcp.testing.models import ModelBackend as ModelBackend
from frontmcp.testing.recorder import HookCall as HookCall
from frontmcp.testing.recorder import HookRecorder as HookRecorder
from frontmcp.testing.results import PromptResult as PromptResult
from frontmcp.testing.results import ResourceResult as ResourceResult
from frontmcp.testing.results import ToolResult as ToolResult
from frontmcp.testing.roads import ERAS as ERAS
from frontmcp.testing.roads import TRANSPORTS as TRANSPORTS
from frontmcp.testing.roads import Road as Road
from frontmcp.testing.scripted import ModelRequest as ModelRequest
from frontmcp.testing.scripted import ScriptedModel as ScriptedModel
from frontmcp.testing.scripted import calling as calling

__all__ = (
    "ERAS",
    "TRANSPORTS",
    "DurableEngineKit",
    "GuardStoreKit",
    "HookCall",
    "HookRecorder",
    "HttpModelBackend",
    "JobEngineKit",
    "McpClient",
    "ModelAdapterKit",
    "ModelBackend",
    "ModelRequest",
    "Notifications",
    "PromptResult",
    "ResourceResult",
    "Road",
    "ScriptedModel",
    "ToolResult",
    "calling",
    "connect",
)
