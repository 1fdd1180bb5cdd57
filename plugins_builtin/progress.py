"""`progress`: updates reach the outermost call's client and never go backwards; what is no number goes nowhere."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

from frontmcp import Call, Plugin, hookimpl

if TYPE_CHECKING:
    from frontmcp.interfaces import ProgressUpdate


class Progress(Plugin):
    """Sends progress to the client, always rising."""

    name = "progress"

    @hookimpl
    async def on_progress(self, call: Call, update: ProgressUpdate) -> None:
        request = call.request
        if request.peer is None:
            return
        highest = request.highest_progress
        if not math.isfinite(update.progress):
            update.progress = 0.0 if highest is None else highest
        if highest is not None and update.progress <= highest:
            update.progress = math.nextafter(highest, math.inf)
        if update.total is not None and not math.isfinite(update.total):
            update.total = None
        request.highest_progress = update.progress
        await request.peer.progress(update)
