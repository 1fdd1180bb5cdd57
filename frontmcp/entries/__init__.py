"""What can be called: one module per noun. An entry owns what differs from kind to kind; the road is the same."""

from frontmcp.entries.agent import AgentEntry as AgentEntry
from frontmcp.entries.base import Entry as Entry
from frontmcp.entries.base import ListName as ListName
from frontmcp.entries.channel import ChannelEntry as ChannelEntry
from frontmcp.entries.completion import CompletableEntry as CompletableEntry
from frontmcp.entries.job import JobEntry as JobEntry
from frontmcp.entries.job import WorkflowEntry as WorkflowEntry
from frontmcp.entries.prompt import PromptEntry as PromptEntry
from frontmcp.entries.resource import ResourceEntry as ResourceEntry
from frontmcp.entries.resource import TemplateEntry as TemplateEntry
from frontmcp.entries.tool import ToolEntry as ToolEntry
