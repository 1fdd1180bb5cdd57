"""What a call is: who calls (`Caller`), in which request (`RequestContext`), and the call itself (`Call`)."""

from __future__ import annotations

from frontmcp.call.call import Call as Call
from frontmcp.call.call import Undecided as Undecided
from frontmcp.call.caller import Caller as Caller
from frontmcp.call.caller import User as User
from frontmcp.call.client import Accepted as Accepted
from frontmcp.call.client import Answer as Answer
from frontmcp.call.client import Cancelled as Cancelled
from frontmcp.call.client import Declined as Declined
from frontmcp.call.client import Message as Message
from frontmcp.call.client import ProgressUpdate as ProgressUpdate
from frontmcp.call.client import Question as Question
from frontmcp.call.client import SamplingResult as SamplingResult
from frontmcp.call.kinds import EVERYTHING as EVERYTHING
from frontmcp.call.kinds import LEVELS as LEVELS
from frontmcp.call.kinds import Asked as Asked
from frontmcp.call.kinds import CallNext as CallNext
from frontmcp.call.kinds import Kind as Kind
from frontmcp.call.kinds import Level as Level
from frontmcp.call.kinds import Origin as Origin
from frontmcp.call.kinds import Sought as Sought
from frontmcp.call.kinds import Surface as Surface
from frontmcp.call.protocols import Asking as Asking
from frontmcp.call.protocols import Attempt as Attempt
from frontmcp.call.protocols import Entry as Entry
from frontmcp.call.protocols import Orphan as Orphan
from frontmcp.call.protocols import Peer as Peer
from frontmcp.call.protocols import Runner as Runner
from frontmcp.call.request import HOPS as HOPS
from frontmcp.call.request import SERVED_BY as SERVED_BY
from frontmcp.call.request import RequestContext as RequestContext
