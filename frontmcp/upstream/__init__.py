"""Other MCP servers behind apps (`App.from_mcp`): reached by the SDK's client, served on the road of every call.

An app's entries are found when the server starts, and again whenever the other server says that they changed. Each
caller has a connection of its own. Loaded by the first server that has such an app, as the SDK's client is.
"""

from frontmcp.upstream.upstream import Upstream as Upstream
from frontmcp.upstream.upstream import running as running
