"""TARGET: which server a command is about, and how it is loaded."""

from __future__ import annotations

import importlib
import importlib.util
import re
import sys
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from types import ModuleType
from typing import Any

from frontmcp.cli.failures import Failure, UsageFailure, explain, shown
from frontmcp.errors import ConfigurationError, nearest
from frontmcp.hooks import Plugin
from frontmcp.logs import configure_logging
from frontmcp.server import FrontMcp
from frontmcp.settings import find_file

NAMES = ("server", "mcp", "app")
"""The server that is meant when a module has several and none was named."""


@dataclass(frozen=True, slots=True)
class Target:
    """A TARGET, read.

    :ivar text: as it was typed.
    :ivar file: the file, when it is one; else ``module`` is meant.
    :ivar attribute: what follows the colon.
    """

    text: str
    module: str
    file: Path | None = None
    attribute: str | None = None

    @property
    def folder(self) -> Path:
        """What goes on ``sys.path``: the file's folder, as ``python file.py`` does, else the working directory."""
        return self.file.parent if self.file is not None else Path.cwd()

    @property
    def label(self) -> str:
        return shown(self.file) if self.file is not None else self.module


def read_target(text: str) -> Target:
    """Read ``file.py``, ``module``, ``file.py:attribute`` or ``module:attribute``.

    :raises UsageFailure: it is none of them, or there is no such file.
    """
    match = re.fullmatch(r"(?P<place>.+?)(?::(?P<attribute>[A-Za-z_][\w.]*))?", text)
    if match is None:
        raise UsageFailure(f'"{text}" is no target: give a file, a module, file.py:attribute or module:attribute')
    place, attribute = match["place"], match["attribute"]
    if place.endswith(".py") or "/" in place or "\\" in place:
        return Target(text, Path(place).stem, _existing(Path(place)), attribute)
    if re.fullmatch(r"[A-Za-z_]\w*(\.[A-Za-z_]\w*)*", place) is None:
        raise UsageFailure(f'"{text}" is no target: give a file, a module, file.py:attribute or module:attribute')
    return Target(text, place, None, attribute)


def _existing(file: Path) -> Path:
    if file.is_file() and file.suffix == ".py":
        return file.resolve()
    if file.is_file():
        raise UsageFailure(f"{file} is no Python file; a target is a file that ends in .py, or a module")
    if file.is_dir():
        raise UsageFailure(f"{file} is a folder; name the file in it that has the server, like {file / 'server.py'}")
    beside = [each.name for each in file.parent.glob("*.py")] if file.parent.is_dir() else []
    raise UsageFailure(f"there is no file {file}{nearest(file.name, beside)}")


@dataclass(frozen=True, slots=True)
class Source:
    """Where a command's server comes from, and what the command line says of it.

    :ivar target: a TARGET, as it was typed; None for a server that has only what every server has.
    :ivar settings: settings of the command line, which override all others.
    :ivar config: the settings file; by default the one beside the target.
    """

    target: str | None
    settings: Mapping[str, Any] = field(default_factory=dict)
    config: str | None = None

    @property
    def folder(self) -> Path:
        """Where the user's code is."""
        return read_target(self.target).folder if self.target is not None else Path.cwd()

    def load(self, *, first: Plugin | None = None, serving: bool = False) -> FrontMcp:
        """The server, checked.

        :param first: a plugin that stands before all others.
        :param serving: it is loaded to serve: what its checks log is logged as it says.
        :raises Failure: it can't be loaded or can't start, with file, line and problems.
        """
        server = self.load_unchecked()
        if first is not None:
            server.add_plugin(first, first=True)
        if serving:
            configure_logging(server.log_options)
        try:
            server.check()
        except ConfigurationError as error:
            raise self.cannot_start(error) from error
        return server

    def load_unchecked(self) -> FrontMcp:
        """`load`, for a report on a server that may have problems."""
        if self.target is None:
            return self._configured(FrontMcp("frontmcp"), Path())
        target = read_target(self.target)
        if str(target.folder) not in sys.path:
            sys.path.insert(0, str(target.folder))
        return self._configured(find_server(import_target(target), target), target.folder)

    def _configured(self, server: FrontMcp, folder: Path) -> FrontMcp:
        """The server, with the settings of the file, the environment and the command line."""
        file = Path(self.config) if self.config is not None else find_file(folder)
        try:
            server.configure(file=file, command_line=self.settings)
        except ConfigurationError as error:
            raise Failure(str(error)) from error
        return server

    def cannot_start(self, error: ConfigurationError) -> Failure:
        """The failure for a server that its own check refuses: all its problems."""
        label = read_target(self.target).label if self.target is not None else "a server"
        if len(error.problems) == 1:
            return Failure(f"{label} can't start: {error.problems[0]}")
        listed = "\n".join(f"  - {problem}" for problem in error.problems)
        return Failure(f"{label} can't start, {len(error.problems)} problems:\n{listed}")


def import_target(target: Target) -> ModuleType:
    """The target's module, imported.

    :raises Failure: it raised, with the place; or there is no such module.
    """
    try:
        return _import_file(target.file) if target.file is not None else importlib.import_module(target.module)
    except (Exception, SystemExit) as error:
        if isinstance(error, ModuleNotFoundError) and _is_missing(target, error):
            raise UsageFailure(_no_module(target)) from error
        raise Failure(explain(error, target.folder)) from error


def _is_missing(target: Target, error: ModuleNotFoundError) -> bool:
    return target.file is None and f"{target.module}.".startswith(f"{error.name}.")


def _no_module(target: Target) -> str:
    known = [file.stem for file in Path.cwd().glob("*.py")]
    return f'there is no module "{target.module}", neither here nor installed{nearest(target.module, known)}'


def _import_file(file: Path) -> ModuleType:
    name = file.stem if file.stem not in sys.modules else f"frontmcp_target_{file.stem}"
    spec = importlib.util.spec_from_file_location(name, file)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    sys.modules[name] = module
    try:
        spec.loader.exec_module(module)
    except BaseException:
        del sys.modules[name]
        raise
    return module


def find_server(module: ModuleType, target: Target) -> FrontMcp:
    """The server that the target means: the named one, the only one, else ``server``, ``mcp`` or ``app``.

    :raises UsageFailure: there is none, or it can't be told which.
    """
    if target.attribute is not None:
        return _named(module, target, target.attribute)
    servers = dict(_servers(module))
    if not servers:
        raise UsageFailure(f"{target.label} {_instead(module)}")
    if len({id(server) for server in servers.values()}) == 1:
        return next(iter(servers.values()))
    for name in NAMES:
        if name in servers:
            return servers[name]
    first = next(iter(servers))
    raise UsageFailure(
        f"{target.label} has several servers: {', '.join(servers)}; name one, like {target.text}:{first}"
    )


def _instead(module: ModuleType) -> str:
    """What a module without a server has, and what to write in it."""
    from frontmcp.definitions.upstream import is_server

    if (name := next((name for name, value in vars(module).items() if is_server(value)), None)) is not None:
        return (
            f"has no FrontMcp, but a server of another make, {name}: serve it with "
            f'server = FrontMcp("name", apps=[App.from_mcp({name})])'
        )
    return 'has no server: write server = FrontMcp("name", tools=[…]) in it'


def _servers(module: ModuleType) -> Iterator[tuple[str, FrontMcp]]:
    for name, value in vars(module).items():
        if isinstance(value, FrontMcp):
            yield name, value


def _named(module: ModuleType, target: Target, path: str) -> FrontMcp:
    found: Any = module
    for name in path.split("."):
        if not hasattr(found, name):
            known = ", ".join(name for name, _ in _servers(module)) or "none"
            raise UsageFailure(f"{target.label} has no {path}; its servers: {known}")
        found = getattr(found, name)
    if not isinstance(found, FrontMcp):
        raise UsageFailure(f"{target.label}: {path} is no FrontMcp server but of type {type(found).__name__}")
    return found
