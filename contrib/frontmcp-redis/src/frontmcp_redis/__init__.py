"""Limits, changes and questions of frontmcp servers, shared by their processes through Redis."""

from frontmcp_redis.changes import RedisChangeBus as RedisChangeBus
from frontmcp_redis.guards import RedisGuardStore as RedisGuardStore
from frontmcp_redis.plugins import RedisChanges as RedisChanges
from frontmcp_redis.plugins import RedisGuards as RedisGuards
from frontmcp_redis.plugins import RedisStates as RedisStates
from frontmcp_redis.states import RedisStateStore as RedisStateStore

__all__ = (
    "RedisChangeBus",
    "RedisChanges",
    "RedisGuardStore",
    "RedisGuards",
    "RedisStateStore",
    "RedisStates",
)
