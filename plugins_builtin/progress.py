"""`progress`: updates reach the client of the outermost call, and never go backwards."""

from __future__ import annotations

import math

from frontmcp import Call, Plugin, hookimpl
from frontmcp.interfaces import ProgressUpdate


class Progress(Plugin):
    name = "progress"

    @hookimpl
    async def on_progress(self, call: Call, update: ProgressUpdate) -> None:
        request = call.request
        if request.peer is None:
            return
        highest = request.highest_progress
        if highest is not None and not update.progress > highest:
            update.progress = math.nextafter(highest, math.inf)
        request.highest_progress = update.progress
        await request.peer.progress(update)
