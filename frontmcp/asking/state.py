"""What a suspended request carries to its retry, as JSON: answers, and how the calls inside it ended."""

from __future__ import annotations

import json
import secrets
import sys
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Final, TypeVar

import pydantic_core
from pydantic import BaseModel

from frontmcp.call import Caller
from frontmcp.errors import ElicitationStateTooLargeError, FrontMcpError, InternalMcpError, PublicMcpError

if TYPE_CHECKING:
    from frontmcp.interfaces import StateStore

STATE_SECONDS: Final = 600.0
"""How long a state can be answered."""

INLINE_BYTES: Final = 32 * 1024
"""What is larger than this lives in the state store instead of the state."""

INLINE_TOTAL: Final = 2 * INLINE_BYTES
"""How much the state carries inline altogether: it travels to the client and back."""

R = TypeVar("R", bound=BaseModel)
RecordKey = tuple[str, str, str]


@dataclass(slots=True)
class Record:
    """An inner call that finished: what it was, and how it ended.

    :ivar caller: identifies the unfinished call it was made by.
    :ivar tool: its canonical id.
    :ivar arguments: the digest of its validated arguments.
    :ivar turn: tells calls apart that are alike.
    :ivar path: for people.
    :ivar outcome: a result or an error as JSON data, or where the state store has it.
    """

    caller: str
    tool: str
    arguments: str
    turn: int
    path: str
    outcome: dict[str, Any]

    @property
    def key(self) -> RecordKey:
        return self.caller, self.tool, self.arguments


@dataclass(slots=True)
class State:
    """What a suspended request carries to its retry, sealed by the wire.

    :ivar id: spent once.
    :ivar caller: whom it belongs to, `Caller.key`.
    :ivar attempt: how often the request was suspended before.
    :ivar answers: answers so far, by the question's name, each in a table as an outcome is.
    :ivar asked: the names of this round's questions, by the key that the client knows them by.
    :ivar records: inner calls that finished.
    :ivar once: results of `once`, by key, each in a table as an outcome is.
    """

    caller: str
    id: str = field(default_factory=lambda: secrets.token_hex(16))
    attempt: int = 0
    answers: dict[str, Any] = field(default_factory=dict)
    asked: dict[str, str] = field(default_factory=dict)
    records: list[Record] = field(default_factory=list)
    once: dict[str, dict[str, Any]] = field(default_factory=dict)

    def dump(self) -> str:
        return pydantic_core.to_json(self).decode()

    @classmethod
    def load(cls, text: str) -> State:
        """The state in a text that was `dump`ed and unsealed."""
        data = json.loads(text)
        records = [Record(**record) for record in data.pop("records")]
        return cls(**data, records=records)

    def belongs_to(self, caller: Caller) -> bool:
        return secrets.compare_digest(self.caller.encode(), caller.key.encode())


class Luggage:
    """What one state carries: inline while it is small, else under a name in the state store."""

    def __init__(self, store: StateStore) -> None:
        self._store = store
        self._room = INLINE_TOTAL

    async def pack(self, value: dict[str, Any], what: str) -> dict[str, Any]:
        """``value``, or where it is now.

        :param what: names it in an error.
        :raises ElicitationStateTooLargeError: it can't be kept.
        """
        data = await self._stored(value, what) if "stored" in value else pydantic_core.to_json(value)
        if len(data) <= min(INLINE_BYTES, self._room):
            self._room -= len(data)
            return value
        name = value.get("stored") or f"kept:{secrets.token_hex(16)}"
        try:
            await self._store.set(name, data, ttl=STATE_SECONDS)
        except Exception as error:
            raise ElicitationStateTooLargeError(
                f"{what} ({len(data)} bytes) can't be kept while the user is asked"
            ) from error
        return {"stored": name}

    async def unpack(self, value: dict[str, Any], what: str) -> dict[str, Any]:
        """What was packed.

        :raises ElicitationStateTooLargeError: the store has dropped it.
        """
        if "stored" not in value:
            return value
        unpacked: dict[str, Any] = json.loads(await self._stored(value, what))
        return unpacked

    async def _stored(self, value: dict[str, Any], what: str) -> bytes:
        data = await self._store.get(value["stored"])
        if data is None:
            raise ElicitationStateTooLargeError(f"{what} could not be kept while the user was asked; call again")
        return data


def dump_result(result: BaseModel) -> dict[str, Any]:
    """A result as the outcome of a record."""
    return {"result": result.model_dump(mode="json", by_alias=True)}


def dump_error(error: BaseException) -> dict[str, Any]:
    """An error as the outcome of a record: enough to raise it again as it arrived."""
    kind = type(error)
    fields = {name: value for name, value in vars(error).items() if name != "original_error"}
    dumped = {
        "error": f"{kind.__module__}:{kind.__qualname__}",
        "message": str(error),
        "code": error.code if isinstance(error, FrontMcpError) else None,
        "public": isinstance(error, FrontMcpError) and error.public,
        "fields": pydantic_core.to_jsonable_python(fields, fallback=repr),
    }
    if hasattr(error, "original_error"):
        dumped["original"] = dump_error(error.original_error) if error.original_error is not None else None
    return dumped


def restore(outcome: Mapping[str, Any], result_type: type[R]) -> R:
    """The result of an outcome; an error is raised again."""
    if "result" in outcome:
        return result_type.model_validate(outcome["result"])
    raise _restored_error(outcome)


def _restored_error(dumped: Mapping[str, Any]) -> Exception:
    error = _of_its_class(dumped) or _of_its_like(dumped)
    vars(error).update(dumped["fields"])
    if isinstance(error, FrontMcpError) and error.code != dumped["code"]:
        error.code = dumped["code"]
    if "original" in dumped:
        original = dumped["original"]
        error.original_error = _restored_error(original) if original is not None else None  # type: ignore[attr-defined]
    return error


def _of_its_class(dumped: Mapping[str, Any]) -> Exception | None:
    """A bare instance of the class it had; None where that is not loaded, or does not show the same message."""
    module, _, path = dumped["error"].partition(":")
    found: Any = sys.modules.get(module)
    for name in path.split("."):
        found = getattr(found, name, None)
    if not (isinstance(found, type) and issubclass(found, Exception)):
        return None
    try:
        error = found.__new__(found)
        error.args = (dumped["message"],)
        return error if str(error) == dumped["message"] else None
    except Exception:
        return None


def _of_its_like(dumped: Mapping[str, Any]) -> Exception:
    if dumped["code"] is None:
        return RuntimeError(dumped["message"])
    return (PublicMcpError if dumped["public"] else InternalMcpError)(dumped["message"], dumped["code"])
