"""Which store counts: the one of this process, one that was given, or one that a plugin makes of a URL."""

from __future__ import annotations

from typing import Any

from frontmcp import ConfigurationError
from frontmcp.errors import unknown_store
from frontmcp.interfaces import GuardStore
from plugins_builtin.guards.memory import MemoryGuardStore


def own_store(config: Any, throttle: Any) -> GuardStore | None:
    """The store for what needs no other plugin; None for what does.

    :param throttle: the server option, which bounds the store of this process; None when it is not set.
    """
    if config is None or config == "memory":
        return MemoryGuardStore() if throttle is None else MemoryGuardStore(throttle.max_partitions)
    return config if isinstance(config, GuardStore) else None


def make_store(manager: Any, config: Any) -> GuardStore:
    """The store that the hook ``guard_store`` answers with.

    :raises ConfigurationError: nobody makes one, or it is none.
    """
    store = manager.call("guard_store", config)
    if store is None:
        wrong = unknown_store(config, "GuardStore", "redis://…", _hint)
        raise ConfigurationError(f"throttle: {wrong}")
    if not isinstance(store, GuardStore):
        raise ConfigurationError("a guard_store hook answered with something that is no GuardStore")
    return store


def _hint(scheme: str) -> str:
    return ": pip install frontmcp-redis" if scheme in ("redis", "rediss", "unix") else ""
