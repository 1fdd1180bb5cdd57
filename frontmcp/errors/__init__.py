"""Errors: what there are (`tree`, `asking`), what clients and the log are told (`answers`), and in which `words`."""

from __future__ import annotations

from frontmcp.errors.answers import log_error as log_error
from frontmcp.errors.answers import new_error_id as new_error_id
from frontmcp.errors.answers import public_text as public_text
from frontmcp.errors.answers import to_error_data as to_error_data
from frontmcp.errors.answers import to_result as to_result
from frontmcp.errors.asking import CapabilityNotSupportedError as CapabilityNotSupportedError
from frontmcp.errors.asking import ClientAnswerError as ClientAnswerError
from frontmcp.errors.asking import ElicitationInvalidError as ElicitationInvalidError
from frontmcp.errors.asking import ElicitationNotSupportedError as ElicitationNotSupportedError
from frontmcp.errors.asking import ElicitationStateTooLargeError as ElicitationStateTooLargeError
from frontmcp.errors.asking import MissingCapabilityError as MissingCapabilityError
from frontmcp.errors.asking import RootsNotSupportedError as RootsNotSupportedError
from frontmcp.errors.asking import SamplingNotSupportedError as SamplingNotSupportedError
from frontmcp.errors.tree import AccessDeniedError as AccessDeniedError
from frontmcp.errors.tree import CallDepthError as CallDepthError
from frontmcp.errors.tree import ChannelExecutionError as ChannelExecutionError
from frontmcp.errors.tree import ChannelNotFoundError as ChannelNotFoundError
from frontmcp.errors.tree import ConfigurationError as ConfigurationError
from frontmcp.errors.tree import FlowControl as FlowControl
from frontmcp.errors.tree import FrontMcpError as FrontMcpError
from frontmcp.errors.tree import InternalMcpError as InternalMcpError
from frontmcp.errors.tree import InvalidInputError as InvalidInputError
from frontmcp.errors.tree import InvalidOutputError as InvalidOutputError
from frontmcp.errors.tree import JobExecutionError as JobExecutionError
from frontmcp.errors.tree import JobNotFoundError as JobNotFoundError
from frontmcp.errors.tree import MissingPromptArgumentError as MissingPromptArgumentError
from frontmcp.errors.tree import NotAnException as NotAnException
from frontmcp.errors.tree import PluginError as PluginError
from frontmcp.errors.tree import PromptExecutionError as PromptExecutionError
from frontmcp.errors.tree import PromptNotFoundError as PromptNotFoundError
from frontmcp.errors.tree import ProviderError as ProviderError
from frontmcp.errors.tree import PublicMcpError as PublicMcpError
from frontmcp.errors.tree import RateLimitError as RateLimitError
from frontmcp.errors.tree import ResourceNotFoundError as ResourceNotFoundError
from frontmcp.errors.tree import ResourceReadError as ResourceReadError
from frontmcp.errors.tree import Response as Response
from frontmcp.errors.tree import ServerBusyError as ServerBusyError
from frontmcp.errors.tree import ToolExecutionError as ToolExecutionError
from frontmcp.errors.tree import ToolNotFoundError as ToolNotFoundError
from frontmcp.errors.tree import WorkflowNotFoundError as WorkflowNotFoundError
from frontmcp.errors.words import describe as describe
from frontmcp.errors.words import sendable as sendable
from frontmcp.errors.words import shorten as shorten
from frontmcp.errors.words import unwrap_group as unwrap_group
