"""Settings of a server from code, a file, the environment and the command line, the later winning.

Written by hand because reading them is on the way to the first call, and the library for it takes longer to import
than everything else here together.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, Final, NamedTuple

PREFIX: Final = "FRONTMCP_"
SEPARATOR: Final = "__"
FILE: Final = "frontmcp.toml"
DEFAULT: Final = "default"

NOT_SETTINGS: Final = frozenset({"ENV", "STATE_KEYS", "CONFIG", "DEPLOYMENT_MODE", "TARGET"})
"""Variables under our prefix that mean something else than the setting of that name."""

ALIASES: Final = {"PLUGIN_AUTOLOAD": "AUTOLOAD_PLUGINS"}

SECRET_WORDS: Final = ("secret", "token", "password", "api_key", "private_key", "dsn")


class Layer(NamedTuple):
    """Settings from one source.

    :ivar source: says where a value came from: ``"code"``, a file's name, ``"environment"``, ``"command line"``.
    """

    source: str
    values: Mapping[str, Any]


class Given(NamedTuple):
    """What one source gave of a setting."""

    source: str
    value: Any

    def where(self, path: Sequence[str | int]) -> str | None:
        """Where this source says a part of the setting; None when it does not."""
        value, spoken = self.value, []
        for step in path:
            if not isinstance(value, Mapping):
                break
            if step not in value:
                return None
            value = value[step]
            spoken.append(str(step).upper())
        return SEPARATOR.join((self.source, *spoken)) if self.source.startswith(PREFIX) else self.source


class Setting(NamedTuple):
    """One setting as it holds, and where it came from.

    :ivar given: what it was made of, the winning source last: a table's keys may come from several, and nobody gave
        what is a default.
    """

    value: Any
    given: tuple[Given, ...] = ()

    @property
    def source(self) -> str:
        """Every source that had a part in it."""
        return ", ".join(each.source for each in self.given) or DEFAULT

    @property
    def is_environment(self) -> bool:
        """Whether a variable of the environment alone gives it."""
        return self.source.startswith(PREFIX)

    def source_of(self, path: Sequence[str | int]) -> str | None:
        """The source that a part of it came from; None where nobody gave it.

        :param path: the keys that lead to the part.
        """
        found = (each.where(path) for each in reversed(self.given))
        return next((where for where in found if where is not None), None)


def file_layer(path: Path) -> Layer:
    """Settings of ``frontmcp.toml``, or of ``[tool.frontmcp]`` in a ``pyproject.toml``.

    :raises ValueError: the file is no TOML, with the place.
    :raises OSError: the file can't be read.
    """
    import tomllib  # most servers have no such file

    data = tomllib.loads(path.read_text(encoding="utf-8"))
    values = data.get("tool", {}).get("frontmcp", {}) if path.name == "pyproject.toml" else data
    return Layer(str(path), values)


def find_file(folder: Path) -> Path | None:
    """The settings file beside a target: ``frontmcp.toml``, else a ``pyproject.toml`` with ``[tool.frontmcp]``."""
    own = folder / FILE
    if own.is_file():
        return own
    project = folder / "pyproject.toml"
    if project.is_file() and "[tool.frontmcp" in project.read_text(encoding="utf-8"):
        return project
    return None


def environment_layer(environ: Mapping[str, str]) -> Layer:
    """Settings of the environment: ``FRONTMCP_HTTP__PORT=9000`` is ``{"http": {"port": 9000}}``.

    A value is JSON where it can be read as such, else text.
    """
    values: dict[str, Any] = {}
    for variable, text in sorted(environ.items(), key=lambda item: item[0].count(SEPARATOR)):
        name = variable.removeprefix(PREFIX)
        if name == variable or name in NOT_SETTINGS or not name:
            continue
        *path, last = ALIASES.get(name, name).lower().split(SEPARATOR)
        target = values
        for step in path:
            target = target.setdefault(step, {})
            if not isinstance(target, dict):
                break
        else:
            target[last] = _read(last, text)
    return Layer("environment", values)


def _read(name: str, text: str) -> Any:
    if name in ("plugins", "plugin_order") and not text.startswith("["):
        return [word.strip() for word in text.split(",") if word.strip()]
    try:
        return json.loads(text)
    except ValueError:
        return text


def merge(layers: Iterable[Layer], locked: Iterable[str] = ()) -> tuple[dict[str, Setting], list[str]]:
    """What holds of several layers, the later winning, tables merged key by key; and what is wrong, in words.

    :param locked: settings that only the first layer, code, may give.
    """
    locked = frozenset(locked)
    settings: dict[str, Setting] = {}
    problems = []
    for index, layer in enumerate(layers):
        for name, value in layer.values.items():
            given = Given(_where(layer, name), value)
            if index and name in locked:
                where = dict.fromkeys(given.where(path) for path, _ in _leaves((), name, value))
                problems += [f"{name} from {each}: it is locked, only code may set it" for each in where]
                continue
            settings[name] = _over(name, settings.get(name), given)
    return settings, problems


def _where(layer: Layer, name: str) -> str:
    return f"{PREFIX}{name.upper()}" if layer.source == "environment" else layer.source


def _over(name: str, lower: Setting | None, given: Given) -> Setting:
    value = given.value
    if lower is not None and isinstance(lower.value, Mapping) and isinstance(value, Mapping):
        return Setting(_deep(lower.value, value), (*lower.given, given))
    if lower is not None and name == "plugins" and isinstance(value, list | tuple):
        # Words about plugins add up: a deployment switches one off without repeating the others.
        return Setting([*lower.value, *value], (*lower.given, given))
    return Setting(value, (given,))


def _deep(lower: Mapping[str, Any], upper: Mapping[str, Any]) -> dict[str, Any]:
    merged = dict(lower)
    for key, value in upper.items():
        below = merged.get(key)
        merged[key] = _deep(below, value) if isinstance(below, Mapping) and isinstance(value, Mapping) else value
    return merged


def shown(settings: Mapping[str, Setting], named: Callable[[Any], str]) -> Iterator[tuple[str, str, str]]:
    """Name, value and source of each setting, tables key by key, for people; secrets hidden.

    :param named: what to show of a value that is no data.
    """
    for name, setting in sorted(settings.items()):
        for path, value in _leaves((), name, setting.value):
            yield ".".join((name, *path)), json.dumps(value, default=named), setting.source_of(path) or DEFAULT


def _leaves(path: tuple[str, ...], key: str, value: Any) -> Iterator[tuple[tuple[str, ...], Any]]:
    """What a setting says, by the keys that lead to it, secrets hidden."""
    if isinstance(value, Mapping) and value and not _is_secret(key):
        for inner, item in value.items():
            yield from _leaves((*path, str(inner)), str(inner), item)
    else:
        yield path, _hidden(key, value)


def _is_secret(name: str) -> bool:
    return any(word in name.lower() for word in SECRET_WORDS)


def _hidden(name: str, value: Any) -> Any:
    if _is_secret(name) and value is not None:
        return "********"
    if isinstance(value, Mapping):
        return {key: _hidden(str(key), item) for key, item in value.items()}
    if isinstance(value, list | tuple):
        return [_hidden(name, item) for item in value]
    if isinstance(value, str) and "://" in value and "@" in value:
        scheme, _, rest = value.partition("://")
        return f"{scheme}://********@{rest.rpartition('@')[2]}"
    return value
