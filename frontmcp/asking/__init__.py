"""Questions to the client and its user, and how a call is left and resumed for one (architecture §7).

Up to 2025-11-25 a question is a request on the call's own stream and the tool waits. From 2026-07-28 on the call is
suspended: the client gets the questions together with a sealed state, and its retry runs the outermost tool again.
What finished inside the call is kept in the state, so that it is not done twice.
"""

from frontmcp.asking.ask import ask as ask
from frontmcp.asking.once import once as once
from frontmcp.asking.state import INLINE_BYTES as INLINE_BYTES
from frontmcp.asking.state import STATE_SECONDS as STATE_SECONDS
from frontmcp.asking.state import State as State
from frontmcp.asking.store import MemoryStateStore as MemoryStateStore
from frontmcp.asking.store import spend as spend
from frontmcp.asking.suspension import Resumed as Resumed
from frontmcp.asking.suspension import Suspended as Suspended
from frontmcp.asking.suspension import Suspension as Suspension
