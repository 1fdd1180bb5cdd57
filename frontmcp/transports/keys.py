"""The keys that seal what clients carry between requests: cursors of lists, and states of questions."""

from __future__ import annotations

import hashlib
import os
from collections.abc import Iterator
from typing import Final

VARIABLE: Final = "FRONTMCP_STATE_KEYS"
KEY_BYTES: Final = 32
ADVICE: Final = f'make one with: python -c "import secrets; print(secrets.token_hex({KEY_BYTES}))"'


def given_keys() -> list[str]:
    """Those of ``FRONTMCP_STATE_KEYS``, which are separated by commas."""
    return [key.strip() for key in os.environ.get(VARIABLE, "").split(",") if key.strip()]


def state_keys() -> list[str] | list[bytes]:
    """The given keys, the first of which seals; else one of this process."""
    return given_keys() or [os.urandom(KEY_BYTES)]


def identity(name: str) -> str:
    """Tells a server from others: the same in all processes that share their keys, and nothing to learn them by.

    :param name: the server's.
    """
    key = state_keys()[0]
    sealed = hashlib.blake2b(name.encode(errors="replace"), person=b"frontmcp", digest_size=16)
    sealed.update(hashlib.sha256(key.encode() if isinstance(key, str) else key).digest())
    return sealed.hexdigest()


def problems_of_keys() -> Iterator[str]:
    """What is wrong with the given keys, in words and without them."""
    keys = given_keys()
    for number, key in enumerate(keys, 1):
        try:
            size = len(key.encode())
        except UnicodeEncodeError:
            yield f"{VARIABLE}: key {number} is no UTF-8 text; {ADVICE}"
            continue
        if size < KEY_BYTES:
            yield f"{VARIABLE}: key {number} has {size} bytes, and {KEY_BYTES} are needed; {ADVICE}"
        if key in keys[: number - 1]:
            yield f"{VARIABLE}: key {number} is there twice; drop one"


def missing_keys() -> str | None:
    """What is wrong where several processes serve and each would seal with a key of its own; None otherwise."""
    workers = os.environ.get("WEB_CONCURRENCY", "1")
    if given_keys() or not workers.isdecimal() or int(workers) < 2:
        return None
    return (
        f"{VARIABLE} is not set, and WEB_CONCURRENCY says that {workers} processes serve: what one of them seals, such "
        f"as the cursor of a list, the others must be able to open. Give all of them one key; {ADVICE}"
    )
