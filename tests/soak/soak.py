"""A soak of a real server by clients that fail, cancel and vanish, and by whatever else may arrive.

``python tests/soak/soak.py`` takes some minutes; ``--short`` some seconds, as in the suite. Everything stays on
loopback, and every wait has an end.
"""

from __future__ import annotations

import argparse
import json
import logging
import random
import socket
import subprocess
import sys
import time
from collections import Counter
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager, suppress
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import IO, Any

import anyio
from anyio.abc import SocketAttribute
from anyio.streams.buffered import BufferedByteReceiveStream
from mcp import Client

OLD, NEW = "2025-11-25", "2026-07-28"
ERAS = (OLD, NEW)
NAMED = {"tools/call": "name", "prompts/get": "name", "resources/read": "uri"}
WORKERS = 16
PATIENCE = 20
"""Seconds within which everything has to be answered."""

LEAKS = ("Traceback", 'File "', "hunter2", "pydantic")
"""What no answer may contain."""


@dataclass(frozen=True)
class Size:
    calls: int
    reads: int
    sessions: int
    streams: int
    random: int
    repeats: int


LONG = Size(calls=20_000, reads=20_000, sessions=10_000, streams=500, random=5_000, repeats=1_000)
SHORT = Size(calls=160, reads=160, sessions=50, streams=20, random=100, repeats=20)


@dataclass
class Report:
    """What was seen: how often each kind of thing was done, and what was wrong."""

    done: Counter[str] = field(default_factory=Counter)
    wrong: list[str] = field(default_factory=list)

    def expect(self, kind: str, ok: bool, seen: Any = "") -> None:
        self.done[kind] += 1
        if not ok:
            self.wrong.append(f"{kind}: {str(seen)[:400]}")


# A raw client: one connection, which may be cut at any moment


@dataclass
class Answer:
    status: int
    headers: dict[str, str]
    body: bytes

    def message(self, id: Any) -> Any:
        """The answer to the request of that id, whether it came as JSON or as a stream of events."""
        text = self.body.decode()
        lines = (
            [text] if text.startswith("{") else [each[6:] for each in text.splitlines() if each.startswith("data: {")]
        )
        return next((each for each in map(json.loads, lines) if each.get("id") == id), {})


class Raw:
    """HTTP by hand."""

    def __init__(self, port: int, era: str) -> None:
        self.port, self.era = port, era
        self.session: str | None = None
        self._stream: Any = None
        self._read: Any = None

    async def connect(self) -> None:
        if self._stream is None:
            self._stream = await anyio.connect_tcp("127.0.0.1", self.port)
            self._read = BufferedByteReceiveStream(self._stream)

    async def close(self) -> None:
        if self._stream is not None:
            stream, self._stream = self._stream, None
            await stream.aclose()

    async def cut(self) -> None:
        """End the connection as a crash does, with a reset."""
        linger = b"\x01\x00\x00\x00\x00\x00\x00\x00"
        self._stream.extra(SocketAttribute.raw_socket).setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, linger)
        await self.close()

    async def half_close(self) -> None:
        await self._stream.send_eof()

    def message(self, id: Any, method: str, **params: Any) -> dict[str, Any]:
        if self.era == NEW:
            prefix = "io.modelcontextprotocol/"
            params["_meta"] = {f"{prefix}protocolVersion": NEW, f"{prefix}clientCapabilities": {}}
        return {"jsonrpc": "2.0", "id": id, "method": method, "params": params}

    def headers(self, message: Any = None) -> dict[str, str]:
        headers = {
            "host": f"127.0.0.1:{self.port}",
            "content-type": "application/json",
            "accept": "application/json, text/event-stream",
        }
        if self.era == NEW or self.session is not None:
            headers["mcp-protocol-version"] = self.era
        if self.session is not None:
            headers["mcp-session-id"] = self.session
        if self.era == NEW and isinstance(message, dict):
            headers["mcp-method"] = str(message.get("method"))
            if (field := NAMED.get(str(message.get("method")))) is not None:
                headers["mcp-name"] = str(message["params"].get(field))
        return headers

    async def write(self, body: bytes, headers: dict[str, str], verb: str = "POST", path: str = "/mcp") -> None:
        await self.connect()
        head = f"{verb} {path} HTTP/1.1\r\n" + "".join(f"{name}: {value}\r\n" for name, value in headers.items())
        length = "" if "content-length" in headers else f"content-length: {len(body)}\r\n"
        await self._stream.send(f"{head}{length}\r\n".encode("latin-1", "replace") + body)

    async def read(self) -> Answer:
        head = (await self._read.receive_until(b"\r\n\r\n", 65536)).decode("latin-1").split("\r\n")
        headers = {name.lower(): value.strip() for name, _, value in (line.partition(":") for line in head[1:])}
        body = b""
        if headers.get("transfer-encoding") == "chunked":
            while size := int(await self._read.receive_until(b"\r\n", 100), 16):
                body += await self._read.receive_exactly(size)
                await self._read.receive_exactly(2)
            await self._read.receive_exactly(2)
        elif length := int(headers.get("content-length", 0)):
            body = await self._read.receive_exactly(length)
        if headers.get("connection") == "close":
            await self.close()
        return Answer(int(head[0].split()[1]), headers, body)

    async def post(self, message: Any, **headers: str) -> Answer:
        body = message if isinstance(message, bytes) else json.dumps(message).encode()
        await self.write(body, self.headers(message) | {name.replace("_", "-"): each for name, each in headers.items()})
        with anyio.fail_after(PATIENCE):
            return await self.read()

    async def open(self) -> Raw:
        """Begin a session, where the era has such."""
        if self.era == OLD:
            params = {"protocolVersion": OLD, "capabilities": {}, "clientInfo": {"name": "soak", "version": "1"}}
            answer = await self.post(self.message(0, "initialize", **params))
            self.session = answer.headers.get("mcp-session-id")
            await self.post({"jsonrpc": "2.0", "method": "notifications/initialized"})
        return self

    async def call(self, id: Any, name: str, **arguments: Any) -> Any:
        return (await self.post(self.message(id, "tools/call", name=name, arguments=arguments))).message(id)

    async def end(self) -> None:
        if self.session is not None:
            await self.write(b"", self.headers(), "DELETE")
            await self.read()
            self.session = None
        await self.close()


@asynccontextmanager
async def raw(port: int, era: str) -> AsyncIterator[Raw]:
    client = Raw(port, era)
    try:
        yield client
    finally:
        with anyio.CancelScope(shield=True):
            await client.close()


# Calls


async def calls(port: int, era: str, size: Size, report: Report) -> None:
    """Sixteen clients at once: twelve by hand, four with the SDK's client."""
    share = size.calls // WORKERS
    async with anyio.create_task_group() as group:
        for worker in range(WORKERS):
            group.start_soon(_decent if worker % 4 == 0 else _rough, port, era, worker, share, report)


async def _decent(port: int, era: str, worker: int, share: int, report: Report) -> None:
    mode = "legacy" if era == OLD else "auto"
    chance = random.Random(worker)
    left = share
    while left > 0:
        async with Client(f"http://127.0.0.1:{port}/mcp", mode=mode) as client:  # type: ignore[arg-type]
            for n in range(min(left, 200)):
                await _decent_call(client, chance, n, f"{era} sdk", report)
        left -= 200


async def _decent_call(client: Client, chance: random.Random, n: int, kind: str, report: Report) -> None:
    name = chance.choices(["echo", "chain", "threaded", "fail", "nap"], [70, 10, 10, 5, 5])[0]
    if name == "nap":
        with anyio.move_on_after(0.01):
            await client.call_tool("nap", {"seconds": 5})
        report.expect(f"{kind} cancelled", True)
        return
    result = await client.call_tool(name, {"n": n})
    if name == "fail":
        report.expect(f"{kind} failing", bool(result.is_error) and not _leaks(str(result.content)), result)
    else:
        report.expect(f"{kind} {name}", result.structured_content == {"n": n}, result)


async def _rough(port: int, era: str, worker: int, share: int, report: Report) -> None:
    chance = random.Random(worker)
    async with raw(port, era) as client:
        await client.open()
        for n in range(share):
            kind = chance.choices(list(KINDS), [weight for weight, _ in KINDS.values()])[0]
            with anyio.fail_after(PATIENCE):
                ok, seen = await KINDS[kind][1](client, f"{worker}-{n}" if n % 2 else worker * 1_000_000 + n + 1, n)
            report.expect(f"{era} raw {kind}", ok, seen)
            if n % 500 == 499:
                await client.end()
                await client.open()
        await client.end()


async def _echo(client: Raw, id: Any, n: int) -> tuple[bool, Any]:
    answer = await client.call(id, "echo", n=n)
    return answer.get("result", {}).get("structuredContent") == {"n": n}, answer


async def _chain(client: Raw, id: Any, n: int) -> tuple[bool, Any]:
    answer = await client.call(id, "chain", n=n)
    return answer.get("result", {}).get("structuredContent") == {"n": n}, answer


async def _fail(client: Raw, id: Any, n: int) -> tuple[bool, Any]:
    result = (await client.call(id, "fail", n=n)).get("result", {})
    return result.get("isError") is True and not _leaks(str(result)), result


async def _refuse(client: Raw, id: Any, n: int) -> tuple[bool, Any]:
    result = (await client.call(id, "refuse", n=n)).get("result", {})
    return result.get("content") == [{"type": "text", "text": f"refused {n}"}], result


async def _cancel(client: Raw, id: Any, n: int) -> tuple[bool, Any]:
    if client.era == NEW:
        return await _vanish(client, id, n)
    async with raw(client.port, client.era) as other:
        other.session = client.session
        await client.write(*_call(client, id, "nap", seconds=30))
        await anyio.sleep(0.01)
        cancelled = {"jsonrpc": "2.0", "method": "notifications/cancelled", "params": {"requestId": id}}
        # Reading must not be broken off: the rest of an answer would be taken for the next one.
        async with anyio.create_task_group() as group:
            group.start_soon(_insist, other, cancelled)
            answer = (await client.read()).message(id)
            group.cancel_scope.cancel()
    return "error" in answer, answer


async def _insist(client: Raw, message: dict[str, Any]) -> None:
    while True:
        await client.post(message)
        await anyio.sleep(0.5)


async def _vanish(client: Raw, id: Any, n: int) -> tuple[bool, Any]:
    async with raw(client.port, client.era) as other:
        other.session = client.session
        await other.write(*_call(other, id, "nap", seconds=0.2 if client.era == OLD else 30))
        await anyio.sleep(0.01 if n % 2 else 0)
        await (other.cut() if n % 3 else other.close())
    return True, None


def _call(client: Raw, id: Any, name: str, **arguments: Any) -> tuple[bytes, dict[str, str]]:
    message = client.message(id, "tools/call", name=name, arguments=arguments)
    return json.dumps(message).encode(), client.headers(message)


Kind = Callable[[Raw, Any, int], Awaitable[tuple[bool, Any]]]
KINDS: dict[str, tuple[int, Kind]] = {
    "echo": (60, _echo),
    "chain": (10, _chain),
    "failing": (10, _fail),
    "refused": (5, _refuse),
    "cancelled": (5, _cancel),
    "vanishing": (10, _vanish),
}


def _leaks(text: str) -> bool:
    return any(leak in text for leak in LEAKS)


# Resources and prompts


async def reads(port: int, era: str, size: Size, report: Report) -> None:
    """Sixteen clients at once, which read, ask for prompts, and miss what is not there."""
    async with anyio.create_task_group() as group:
        for worker in range(WORKERS):
            group.start_soon(_reader, port, era, worker, size.reads // WORKERS, report)


async def _reader(port: int, era: str, worker: int, share: int, report: Report) -> None:
    chance = random.Random(worker)
    async with raw(port, era) as client:
        await client.open()
        for n in range(share):
            kind, method, params, expected = chance.choice(
                [
                    ("text", "resources/read", {"uri": "soak://text"}, "always the same"),
                    ("bytes", "resources/read", {"uri": "soak://bytes"}, '"blob":"AAAA'),
                    ("template", "resources/read", {"uri": f"soak://number/{n}"}, f'number {n}"'),
                    ("prompt", "prompts/get", {"name": "note", "arguments": {"n": str(n)}}, f"note {n}."),
                    ("missing", "resources/read", {"uri": f"soak://nothing/{n}"}, "Resource not found"),
                ]
            )
            answer = await client.post(client.message(n + 1, method, **params))
            text = answer.body.decode()
            report.expect(f"{era} read {kind}", expected in text and not _leaks(text), text)
        await client.end()


# One id for everything


async def one_id(port: int, era: str, size: Size, report: Report) -> None:
    """A client that always sends ``id: 1``: one after the other, and all at once."""
    async with raw(port, era) as client:
        await client.open()
        for n in range(size.repeats):
            answer = await client.call(1, "echo", n=n)
            report.expect(f"{era} id 1 in turn", answer.get("result", {}).get("structuredContent") == {"n": n}, answer)
        for _ in range(max(1, size.repeats // 20)):
            async with anyio.create_task_group() as group:
                for n in range(WORKERS):
                    group.start_soon(_same_id, client, n, report)
        await client.end()


async def _same_id(client: Raw, n: int, report: Report) -> None:
    async with raw(client.port, client.era) as other:
        other.session = client.session
        answer = await other.call(1, "echo", n=n)
        right = answer.get("result", {}).get("structuredContent") == {"n": n}
        refused = "in flight" in answer.get("error", {}).get("message", "")
        report.expect(f"{client.era} id 1 at once", right or (client.era == OLD and refused), answer)


# Bad input

DEEP = b"[" * 100_000
BODIES: dict[str, bytes] = {
    "no JSON": b"not json",
    "half JSON": b'{"jsonrpc": "2.0", "id": 1, "method": ',
    "nothing": b"",
    "null": b"null",
    "deep": DEEP,
    "deep in a message": b'{"jsonrpc":"2.0","id":1,"method":"tools/call","params":' + DEEP + b"]" * 100_000 + b"}",
    "batch": b'[{"jsonrpc":"2.0","id":1,"method":"ping"},{"jsonrpc":"2.0","id":2,"method":"ping"}]',
    "empty batch": b"[]",
    "invalid UTF-8": b'{"jsonrpc":"2.0","id":1,"method":"\xff\xfe"}',
    "UTF-16": '{"jsonrpc":"2.0","id":1,"method":"ping"}'.encode("utf-16"),
    "lone surrogate": b'{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"echo\\ud800","arguments":{}}}',
    "huge number": b'{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"x":' + b"9" * 10_000 + b"}}",
    "NaN": b'{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"nap","arguments":{"seconds":NaN}}}',
    "5 MB": b'{"jsonrpc":"2.0","id":1,"method":"ping","params":{"x":"' + b"x" * 5_000_000 + b'"}}',
    "wrong version": b'{"jsonrpc":"1.0","id":1,"method":"ping"}',
    "no method": b'{"jsonrpc":"2.0","id":1}',
    "id is an object": b'{"jsonrpc":"2.0","id":{"hunter2":1},"method":"ping"}',
    "id is null": b'{"jsonrpc":"2.0","id":null,"method":"ping"}',
    "id is true": b'{"jsonrpc":"2.0","id":true,"method":"ping"}',
    "id is 1.5": b'{"jsonrpc":"2.0","id":1.5,"method":"ping"}',
    "params is a list": b'{"jsonrpc":"2.0","id":1,"method":"tools/call","params":["hunter2"]}',
    "an answer": b'{"jsonrpc":"2.0","id":77,"result":{}}',
    "an error": b'{"jsonrpc":"2.0","id":77,"error":{"code":1,"message":"hunter2"}}',
}
HEADERS: dict[str, dict[str, str]] = {
    "accept nothing known": {"accept": "text/html"},
    "content type": {"content-type": "text/plain"},
    "unknown session": {"mcp-session-id": "hunter2"},
    "odd session": {"mcp-session-id": "\xff" * 50},
    "unknown version": {"mcp-protocol-version": "1999-01-01"},
    "odd version": {"mcp-protocol-version": "hunter2"},
    "foreign host": {"host": "evil.example"},
    "foreign origin": {"origin": "http://evil.example"},
    "wrong method": {"mcp-method": "tools/list"},
    "wrong name": {"mcp-name": "hunter2"},
    "long header": {"x-long": "x" * 30_000},
}
MESSAGES: dict[str, tuple[Any, str, dict[str, Any]]] = {
    "id of 2**70": (2**70, "tools/call", {"name": "echo", "arguments": {"n": 1}}),
    "negative id": (-(2**70), "tools/call", {"name": "echo", "arguments": {"n": 1}}),
    "empty id": ("", "tools/call", {"name": "echo", "arguments": {"n": 1}}),
    "long id": ("x" * 10_000, "tools/call", {"name": "echo", "arguments": {"n": 1}}),
    "argument of 2**70": (1, "tools/call", {"name": "echo", "arguments": {"n": 2**70}}),
    "unknown method": (1, "no/such", {}),
    "empty method": (1, "", {}),
    "unknown tool": (1, "tools/call", {"name": "hunter3", "arguments": {}}),
    "no name": (1, "tools/call", {"arguments": {}}),
    "name is a number": (1, "tools/call", {"name": 7, "arguments": {}}),
    "arguments is a list": (1, "tools/call", {"name": "echo", "arguments": [1]}),
    "wrong argument": (1, "tools/call", {"name": "echo", "arguments": {"n": "hunter2"}}),
    "cursor": (1, "tools/list", {"cursor": "hunter2"}),
    "cursor is a number": (1, "tools/list", {"cursor": 7}),
    "requestState": (1, "tools/call", {"name": "echo", "arguments": {"n": 1}, "requestState": "hunter2"}),
    "level": (1, "logging/setLevel", {"level": "hunter2"}),
    "resource": (1, "resources/read", {"uri": "nothing://x"}),
}


async def bad_input(port: int, era: str, report: Report) -> None:
    """Whatever a broken client may send; each gets an answer that is no 5xx and tells nothing of our inside."""
    for opened in (True, False):
        for name, body in BODIES.items():
            await _bad(port, era, opened, f"{era} {name}", lambda client, body=body: client.post(body), report)
        for name, headers in HEADERS.items():

            async def with_headers(client: Raw, headers: dict[str, str] = headers) -> Answer:
                message = client.message(1, "tools/call", name="echo", arguments={"n": 1})
                return await client.post(message, **headers)

            await _bad(port, era, opened, f"{era} {name}", with_headers, report)
        for name, (id, method, params) in MESSAGES.items():

            async def with_message(
                client: Raw, id: Any = id, method: str = method, params: dict[str, Any] = params
            ) -> Answer:
                return await client.post(client.message(id, method, **params))

            await _bad(port, era, opened, f"{era} {name}", with_message, report)


async def _bad(
    port: int, era: str, opened: bool, kind: str, send: Callable[[Raw], Awaitable[Answer]], report: Report
) -> None:
    async with raw(port, era) as client:
        if opened:
            await client.open()
        try:
            answer = await send(client)
        except (anyio.EndOfStream, anyio.IncompleteRead, anyio.BrokenResourceError, anyio.DelimiterNotFound) as error:
            # uvicorn ends a connection whose request line or headers are no HTTP, or too long.
            report.expect(kind, kind.endswith(("long header", "5 MB")), repr(error))
        except TimeoutError:
            report.expect(kind, False, "no answer")
        else:
            report.expect(kind, answer.status < 500 and not _leaks(answer.body.decode("utf-8", "replace")), answer)
        if opened:
            with suppress(OSError, anyio.EndOfStream, anyio.BrokenResourceError, anyio.IncompleteRead):
                await client.end()


async def bad_connections(port: int, era: str, report: Report) -> None:
    """Bodies that never come, bodies that come in bytes, connections closed half way."""
    async with raw(port, era) as client:
        await client.open()
        body, headers = _call(client, 5, "echo", n=5)
        await client.write(body[:10], headers | {"content-length": str(len(body))})
        with anyio.fail_after(PATIENCE):
            answer = await client.read()
        report.expect(f"{era} body that stops", answer.status == 408, answer)
        await client.write(b"", headers | {"content-length": str(len(body))})
        for index in range(len(body)):
            await client._stream.send(body[index : index + 1])
        answer = await client.read()
        report.expect(f"{era} body in bytes", answer.message(5).get("result") is not None, answer)
        for part in (0, 10, len(body)):
            async with raw(port, era) as half:
                half.session = client.session
                await half.write(body[:part], headers | {"content-length": str(len(body))})
                await half.half_close()
                with anyio.move_on_after(PATIENCE) as waiting:
                    with suppress(anyio.EndOfStream, anyio.IncompleteRead, anyio.BrokenResourceError):
                        await half.read()
                report.expect(f"{era} half-closed", not waiting.cancelled_caught, "held open")
        await client.end()


async def opened_and_dropped(port: int, size: Size, report: Report) -> None:
    """Sessions that are opened, and never heard of again."""

    async def some(count: int) -> None:
        for _ in range(count):
            async with raw(port, OLD) as client:
                await client.open()
                report.expect("session dropped", client.session is not None)

    async with anyio.create_task_group() as group:
        for _ in range(10):
            group.start_soon(some, size.sessions // 10)


async def streams_cut(port: int, era: str, size: Size, report: Report) -> None:
    """Streams of changes, all open at once, then cut."""
    clients = [Raw(port, era) for _ in range(size.streams)]
    for client in clients:
        await client.open()
        if era == OLD:
            await client.write(b"", client.headers(), "GET")
        else:
            message = client.message(1, "subscriptions/listen", notifications={"toolsListChanged": True})
            await client.write(json.dumps(message).encode(), client.headers(message))
        with anyio.fail_after(PATIENCE):
            head = await client._read.receive_until(b"\r\n\r\n", 65536)
        report.expect(f"{era} stream cut", b"200" in head, head)
    for client in clients:
        await client.cut()


async def random_requests(port: int, size: Size, report: Report) -> None:
    """Requests made by chance, always the same ones."""
    chance = random.Random(7)
    for number in range(size.random):
        era = chance.choice(ERAS)
        async with raw(port, era) as client:
            if chance.random() < 0.1:
                await client.open()
            verb = chance.choices(["POST", "GET", "DELETE", "PUT", "OPTIONS"], [90, 2, 4, 2, 2])[0]
            headers = {name: each for name, each in client.headers().items() if name == "host" or chance.random() < 0.9}
            if verb == "GET":
                headers["accept"] = "application/json"
            kind = f"random {verb}"
            try:
                await client.write(
                    _random_body(chance, client), headers, verb, chance.choice(["/mcp"] * 9 + ["/", "/%00"])
                )
                with anyio.fail_after(PATIENCE):
                    answer = await client.read()
            except (anyio.EndOfStream, anyio.IncompleteRead, anyio.BrokenResourceError):
                report.expect(kind, False, f"connection ended at {number}")
            except TimeoutError:
                report.expect(kind, False, f"no answer to {number}")
            else:
                text = answer.body.decode("utf-8", "replace")
                report.expect(kind, answer.status not in (500, 502) and not _leaks(text), (number, answer))


METHODS = (
    "initialize",
    "ping",
    "tools/list",
    "tools/call",
    "logging/setLevel",
    "server/discover",
    "no/such",
    "",
    "prompts/list",
)


def _random_body(chance: random.Random, client: Raw) -> bytes:
    message = client.message(
        _random_value(chance, 1), chance.choice(METHODS), name=chance.choice(["echo", "fail", "x"])
    )
    message["params"] |= {chance.choice(["arguments", "cursor", "level", "_meta"]): _random_value(chance, 3)}
    for key in list(message):
        if chance.random() < 0.1:
            message[key] = _random_value(chance, 2)
    body = json.dumps(message).encode()
    if chance.random() < 0.2:
        spoiled = bytearray(body)
        for _ in range(3):
            spoiled[chance.randrange(len(spoiled))] = chance.randrange(256)
        return bytes(spoiled)
    return body


def _random_value(chance: random.Random, depth: int) -> Any:
    simple = [None, True, 0, -1, 2**70, 1.5, "", "x" * 100, "\ud800", "1"]
    if depth == 0 or chance.random() < 0.6:
        return chance.choice(simple)
    inner = [_random_value(chance, depth - 1) for _ in range(chance.randrange(4))]
    return inner if chance.random() < 0.5 else {f"key{index}": each for index, each in enumerate(inner)}


# The whole


@asynccontextmanager
async def soaked(report: Report, log: IO[bytes]) -> AsyncIterator[int]:
    """The server in a process of its own; gives its port."""
    with socket.socket() as bound:
        bound.bind(("127.0.0.1", 0))
        port = bound.getsockname()[1]
    process = subprocess.Popen([sys.executable, str(Path(__file__).with_name("server.py")), str(port)], stderr=log)
    try:
        await _up(port)
        yield port
    finally:
        process.terminate()
        process.wait(20)
    log.seek(0)
    report.wrong += [f"logged: {line}" for line in _unexpected(log.read().decode())]


async def _up(port: int) -> None:
    for _ in range(1000):
        with suppress(OSError):
            await held(port)
            return
        await anyio.sleep(0.05)
    raise SystemExit("the server did not start")


def _unexpected(log: str) -> list[str]:
    """Errors that the server logged beside those of the tool that fails."""
    records = [line for line in log.splitlines() if "ERROR" in line or "Exception in ASGI" in line]
    return [line for line in records if "frontmcp.errors" not in line]


async def held(port: int) -> dict[str, int]:
    """What the server holds on to."""
    async with raw(port, NEW) as client:
        await client.write(b"", {"host": f"127.0.0.1:{port}"}, "GET", "/debug")
        found: dict[str, int] = json.loads((await client.read()).body)
        return found


async def settled(port: int, seconds: float) -> dict[str, int]:
    """What the server holds on to once it has let go of what ended; the last figures where it does not."""
    deadline = time.monotonic() + seconds
    while True:
        found = await held(port)
        if (
            not any(found[name] for name in ("sessions", "tracked", "in_flight", "running"))
            or time.monotonic() > deadline
        ):
            return found
        await anyio.sleep(0.5)


async def soak(
    size: Size, log: IO[bytes], say: Callable[[str], None] = print
) -> tuple[Report, dict[str, int], dict[str, int]]:
    """Everything, in turn; gives what was seen, and what the server held before and after.

    Before is after a first round: what is made once is made by then.
    """
    report = Report()
    async with soaked(report, log) as port:
        if size is LONG:
            await _round(port, SHORT, Report(), lambda _: None)
        else:
            await calls(port, NEW, SHORT, report)
        before = await settled(port, 30)
        say(f"before: {before}")
        await _round(port, size, report, say)
        after = await settled(port, 60)
        say(f"after:  {after}")
        for era in ERAS:
            await calls(port, era, Size(WORKERS, 0, 0, 0, 0, 0), report)
    return report, before, after


async def _round(port: int, size: Size, report: Report, say: Callable[[str], None]) -> None:
    async def phase(name: str, work: Awaitable[None]) -> None:
        began = time.monotonic()
        await work
        figures = await held(port)
        say(f"{name}: {time.monotonic() - began:.1f} s, wrong {len(report.wrong)}, {figures}")

    for era in ERAS:
        parts = 4 if size is LONG else 1
        for part in range(parts):
            some = replace(size, calls=size.calls // parts)
            await phase(f"{era} calls {part + 1}/{parts}", calls(port, era, some, report))
        await phase(f"{era} reads", reads(port, era, size, report))
        await phase(f"{era} id 1", one_id(port, era, size, report))
        await phase(f"{era} bad input", bad_input(port, era, report))
        await phase(f"{era} bad connections", bad_connections(port, era, report))
        await phase(f"{era} streams", streams_cut(port, era, size, report))
    await phase("sessions opened and dropped", opened_and_dropped(port, size, report))
    await phase("random requests", random_requests(port, size, report))


def problems(report: Report, before: dict[str, int], after: dict[str, int]) -> list[str]:
    """What a soak found wrong, in words."""
    found = report.wrong[:50]
    for name in ("sessions", "tracked", "in_flight", "running"):
        if after[name]:
            found.append(f"{after[name]} {name} left")
    # Threads that were needed wait some seconds for more to do: as many as there were calls at a time.
    for name, most in (("tasks", 5), ("descriptors", 5), ("threads", WORKERS)):
        if after[name] > before[name] + most:
            found.append(f"{name} grew from {before[name]} to {after[name]}")
    return found


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--short", action="store_true", help="some seconds instead of minutes")
    parser.add_argument("--log", type=Path, default=Path("soak.log"), help="where the server logs to")
    given = parser.parse_args()
    logging.getLogger("mcp.client").setLevel(logging.CRITICAL)  # what a cancelled call leaves to say
    with given.log.open("w+b") as log:
        report, before, after = anyio.run(soak, SHORT if given.short else LONG, log)
    for kind, count in sorted(report.done.items()):
        print(f"{count:7}  {kind}")
    wrong = problems(report, before, after)
    print("\n".join(wrong) or f"nothing wrong; RSS {before['rss']} kB before, {after['rss']} kB after")
    sys.exit(bool(wrong))


if __name__ == "__main__":
    main()
