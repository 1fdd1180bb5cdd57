"""What runs by itself: the clock of cron expressions, in any time zone."""

from __future__ import annotations

import logging
import time
from collections.abc import Mapping
from datetime import UTC, datetime, tzinfo
from typing import Any
from zoneinfo import ZoneInfo, ZoneInfoNotFoundError

import anyio
from cronsim import CronSim, CronSimError
from pydantic import ValidationError

from frontmcp import Caller, ConfigurationError, FrontMcpError, InvalidInputError
from frontmcp.interfaces.jobs import JobEngine, Owner, Run

logger = logging.getLogger("frontmcp.jobs")

LOOK_AGAIN = 60.0
"""Seconds after which the clock is looked at again: it may be set, and machines sleep."""


def check(entry: Any) -> None:
    """Check the schedule of an entry, when the server starts.

    :raises ConfigurationError: it is wrong, or never comes; lists every problem.
    """
    schedule, place = entry.definition.schedule, entry.definition.place
    problems = []
    try:
        next_time(schedule, datetime.now(UTC))
    except ConfigurationError as error:
        problems.append(f"{place}: {error}")
    try:
        caller = owner(schedule).caller()
        if not all(rule.custom is not None or rule.allows(caller) for rule in entry.definition.rules_for("execute")):
            problems.append(f"{place}: permissions= do not let run_as start it; give it what they ask for")
    except ValidationError as error:
        wrong = sorted({str(issue["loc"][0]) for issue in error.errors() if issue["loc"]})
        which = f"; wrong: {', '.join(wrong)}" if wrong else ""
        problems.append(f'{place}: run_as takes {{"sub": …, "roles": […], …}}{which}')
    try:
        entry.validate(dict(schedule.input or {}))
    except InvalidInputError as error:
        paths = ", ".join(".".join(map(str, issue["path"])) for issue in error.validation_errors)
        problems.append(f"{place}: a scheduled run gives no such input: {paths}; give them defaults")
    if problems:
        raise ConfigurationError(problems)
    if schedule.run_as is None:
        logger.warning("%s is scheduled without run_as=: it runs as an anonymous caller", place)


def next_time(schedule: Any, after: datetime) -> datetime:
    """When it is due next.

    :raises ConfigurationError: the expression or the time zone is wrong, or it is never due.
    """
    zone = _zone(schedule.timezone)
    try:
        due: datetime = next(CronSim(schedule.cron, after.astimezone(zone)))
    except (CronSimError, AttributeError) as error:
        raise ConfigurationError(
            f'schedule "{schedule.cron}": {error}; write "minute hour day month weekday"'
        ) from None
    except StopIteration:
        raise ConfigurationError(f'schedule "{schedule.cron}": never comes') from None
    return due


def _zone(name: str | None) -> tzinfo:
    if name is None:
        return UTC
    try:
        return ZoneInfo(name)
    except (ZoneInfoNotFoundError, ValueError, TypeError, OSError):
        raise ConfigurationError(
            f'timezone "{name}" is unknown; write a name such as "Europe/Berlin" (on systems without time zones: '
            "pip install tzdata)"
        ) from None


def owner(schedule: Any) -> Owner:
    """As whom it runs.

    :raises ValidationError: ``run_as`` says it wrongly.
    """
    if schedule.run_as is None:
        return Owner(sub=Caller.anonymous().sub, is_anonymous=True)
    return Owner.model_validate(dict(schedule.run_as) if isinstance(schedule.run_as, Mapping) else schedule.run_as)


async def keep(engine: JobEngine, entry: Any) -> None:
    """Start a run whenever it is due.

    What was missed while the process was not there is not made up for; of several times that pass while it sleeps, or
    as the clock is set, one is. A time that comes twice since the clock was set back is one run.
    """
    schedule = entry.definition.schedule
    while True:
        due = next_time(schedule, datetime.fromtimestamp(time.time(), UTC))
        # Nothing tells that a clock was set.
        while (left := due.timestamp() - time.time()) > 0:  # noqa: ASYNC110
            await anyio.sleep(min(left, LOOK_AGAIN))
        try:
            await engine.submit(_run(entry, due))
        except FrontMcpError as error:
            logger.error("%s was due at %s and could not be started: %s", entry.id, due.isoformat(), error)
        except Exception:
            logger.exception("%s was due at %s and could not be started", entry.id, due.isoformat())


def _run(entry: Any, due: datetime) -> Run:
    """The run of one time: the same in every process that keeps the schedule, so that it is carried out once."""
    schedule, moment = entry.definition.schedule, due.astimezone(UTC).isoformat()
    return Run(
        id=f"schedule:{entry.id}:{moment}",
        kind=entry.kind,
        name=entry.name,
        entry=entry.id,
        input=dict(schedule.input or {}),
        owner=owner(schedule),
        context={"scheduled": moment},
        created_at=time.time(),
    )
