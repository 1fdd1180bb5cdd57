"""Which store counts: the one of this process, one that was given, or one that a plugin makes of a URL."""

from __future__ import annotations

from typing import Any

from frontmcp import ConfigurationError
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
        raise ConfigurationError(f"throttle: {_unknown(config)}")
    if not isinstance(store, GuardStore):
        raise ConfigurationError("a guard_store hook answered with something that is no GuardStore")
    return store


def _unknown(store: Any) -> str:
    """What is wrong with a store that nobody knows, without what it holds: a URL may carry a password."""
    if not isinstance(store, str):
        return f"no plugin makes a store of {type(store).__name__}; store= takes a URL or a GuardStore"
    scheme, separator, _ = store.partition("://")
    if not separator:
        return 'store= takes a URL such as "redis://…", "memory", or a GuardStore'
    hint = ": pip install frontmcp-redis" if scheme in ("redis", "rediss", "unix") else ""
    return f"no plugin knows the store {scheme}://…{hint}"
