"""Keeps the leases of this process alive, from a thread of its own.

A thread, because a lease must outlive a busy event loop, and a call that was answered while its own thread runs on.
"""

from __future__ import annotations

import logging
import threading
from typing import Final

import redis

from frontmcp_redis.connection import Connections

logger = logging.getLogger("frontmcp.redis")

RENEW: Final = """
local t = redis.call('TIME')
local lease = tonumber(ARGV[1])
redis.call('ZADD', KEYS[1], t[1] * 1000 + math.floor(t[2] / 1000) + lease, ARGV[2])
redis.call('PEXPIRE', KEYS[1], lease * 2)
"""
"""Sets a lease anew, also one that is lost: whoever holds it is at work, and counts."""

Lease = tuple[str, str]
"""The key of a sorted set, and the token in it."""


class Keeper:
    """Renews what is held, and takes out what was dropped.

    :param lease: seconds; renewed three times in it.
    """

    def __init__(self, connections: Connections, lease: float) -> None:
        self._connections = connections
        self._lease = lease
        self._lock = threading.Lock()
        self._held: set[Lease] = set()
        self._dropped: set[Lease] = set()
        self._wake = threading.Event()
        self._thread: threading.Thread | None = None

    def hold(self, key: str, token: str) -> None:
        """Renew a lease from now on."""
        with self._lock:
            self._held.add((key, token))
        self._start()

    def let_go(self, key: str, token: str) -> None:
        """Renew a lease no longer."""
        with self._lock:
            self._held.discard((key, token))

    def drop(self, key: str, token: str) -> None:
        """Take a lease out of Redis, from any thread."""
        with self._lock:
            self._held.discard((key, token))
            self._dropped.add((key, token))
        self._wake.set()
        self._start()

    def stop(self) -> None:
        """Take out what was dropped, and end once nothing is held."""
        self._wake.set()

    def _start(self) -> None:
        with self._lock:
            if self._thread is None:
                self._thread = threading.Thread(target=self._run, name="frontmcp-redis-leases", daemon=True)
                self._thread.start()

    def _run(self) -> None:
        client, failing = self._connections.sync_client(), False
        try:
            while self._has_work():
                self._wake.wait(self._lease / 3)
                self._wake.clear()
                try:
                    self._keep(client)
                    failing = False
                except redis.RedisError as error:
                    if not failing:
                        logger.warning("leases can't be renewed: %s", type(error).__name__)
                    failing = True
        finally:
            client.close()

    def _has_work(self) -> bool:
        with self._lock:
            if not (self._held or self._dropped):
                self._thread = None
                return False
            return True

    def _keep(self, client: redis.Redis) -> None:
        with self._lock:
            held, dropped = set(self._held), self._dropped
            # What can't be taken out now ends by itself.
            self._dropped = set()
        self._send(client, held, dropped)
        with self._lock:
            gone = held - self._held
        # Given back while they were renewed.
        self._send(client, set(), gone)

    def _send(self, client: redis.Redis, renewed: set[Lease], removed: set[Lease]) -> None:
        if not (renewed or removed):
            return
        with client.pipeline(transaction=False) as pipeline:
            for key, token in renewed:
                pipeline.eval(RENEW, 1, key, round(self._lease * 1000), token)
            for key, token in removed:
                pipeline.zrem(key, token)
            pipeline.execute()
