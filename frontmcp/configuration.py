"""What holds of a server's settings once every source was read, and what is wrong with them."""

from __future__ import annotations

import logging
import os
from collections.abc import Collection, Mapping, Sequence
from pathlib import Path
from typing import Annotated, Any, Final, Literal

from pydantic import BaseModel, ConfigDict, Field, ValidationError

from frontmcp.claims import INSTALLABLE, Claims
from frontmcp.errors import ConfigurationError, nearest
from frontmcp.logs import LogOptions
from frontmcp.settings import FILE, Layer, Setting, environment_layer, file_layer, merge
from frontmcp.transports.options import HttpOptions
from frontmcp.validation import issues

logger = logging.getLogger("frontmcp.server")


class ListCache(BaseModel):
    """How long clients may keep lists (2026-07-28 on).

    :ivar ttl: in seconds.
    :ivar scope: ``"public"``, for anybody, holds only for lists that are the same for every caller.
    """

    model_config = ConfigDict(extra="forbid", frozen=True, defer_build=True)

    ttl: Annotated[float, Field(ge=0)] = 0
    scope: Literal["public", "private"] = "private"


class CoreSettings(BaseModel):
    """The settings of the core itself; any other is an option that a plugin claims. See `FrontMcp`."""

    # Built with the first server, and with it the tables inside, once.
    model_config = ConfigDict(frozen=True, coerce_numbers_to_str=True, defer_build=True)

    instructions: str | None = None
    http: HttpOptions = Field({}, validate_default=True)
    pagination: Annotated[int, Field(gt=0)] | None = 40
    list_cache: ListCache = Field({}, validate_default=True)
    max_call_depth: Annotated[int, Field(ge=0)] = 16
    thread_limit: Annotated[int, Field(gt=0)] = 40
    logging: LogOptions = Field({}, validate_default=True)
    plugins: list[Any] = []
    plugin_order: list[str] = []
    autoload_plugins: bool = True


HEADERS: Final = ("frontmcp", "tool")
"""Tables of a ``pyproject.toml``, or of other programs' files, that `FILE` does not have."""

DEFAULTS: Final = {name: field.default for name, field in CoreSettings.model_fields.items()}
"""What `FrontMcp` was given where it was given nothing."""


class Configuration:
    """The layers of settings of one server.

    :param code: what `FrontMcp` was given.
    :param locked: settings that no other layer may give.
    :ivar settings: every setting, with its sources.
    :ivar core: those of the core.
    :ivar options: those that plugins claim.
    """

    settings: dict[str, Setting]
    core: CoreSettings
    options: dict[str, Any]

    def __init__(self, code: Mapping[str, Any], locked: Sequence[str]) -> None:
        self._code = {name: value for name, value in code.items() if name not in DEFAULTS or value != DEFAULTS[name]}
        self._locked = tuple(locked)
        self._more: tuple[Layer, ...] = (environment_layer(os.environ),)
        self.read()

    def add_plugin(self, plugin: Any, *, first: str | None) -> None:
        """Add a plugin to code's own; by its name to the front of the order, when given."""
        self._code["plugins"] = [*self._code.get("plugins", ()), plugin]
        if first is not None:
            self._code["plugin_order"] = [first, *self._code.get("plugin_order", ())]

    def configure(self, file: Path | None, command_line: Mapping[str, Any] | None) -> None:
        """Take a settings file, the environment as it is now, and the command line.

        :raises ConfigurationError: the file can't be read, with the place.
        """
        layers = [environment_layer(os.environ), Layer("command line", command_line or {})]
        if file is not None:
            try:
                layers.insert(0, file_layer(file))
            except OSError as error:
                raise ConfigurationError(f"settings file {file}: {error.strerror}") from error
            except ValueError as error:
                raise ConfigurationError(f"settings file {file}: {error}") from error
        self._more = tuple(layers)
        self.read()

    def read(self) -> list[str]:
        """Take the settings of every source anew; what is wrong with the core's own, in words."""
        settings, problems = merge((Layer("code", self._code), *self._more), self._locked)
        values = {name: setting.value for name, setting in settings.items()}
        own = {name: values.pop(name) for name in CoreSettings.model_fields if name in values}
        core = _core(own, settings, problems)
        for name in CoreSettings.model_fields:
            given = settings[name].given if name in settings else ()
            settings[name] = Setting(_plain(getattr(core, name)), given)
        self.settings, self.core, self.options = settings, core, values
        return problems

    def check_options(self, claims: Claims, keywords: Collection[str]) -> list[str]:
        """Check the settings that plugins claim; a variable of the environment that means nothing is passed over.

        :param keywords: what a setting in code could have been meant as.
        :returns: what is wrong, in words.
        """
        known = {*CoreSettings.model_fields, *claims.names("server")}
        problems = [
            f'locked=: there is no setting "{name}"{nearest(name, known)}' for name in self._locked if name not in known
        ]
        for name in list(self.options):
            setting = self.settings[name]
            meant = keywords if setting.source == "code" else CoreSettings.model_fields
            problems += self._check_option(claims, name, setting, meant)
        return problems

    def _check_option(self, claims: Claims, name: str, setting: Setting, meant: Collection[str]) -> list[str]:
        def place(path: Sequence[int | str] = ()) -> str:
            return f"setting from {setting.source_of(path) or setting.source}"

        is_known = name in claims.names("server") or name in INSTALLABLE
        if not is_known and name == "environment":
            return [f"{place()}: it is no setting: give the variable FRONTMCP_ENV, or environment= in code"]
        if not is_known and name in HEADERS and isinstance(setting.value, Mapping):
            return [f"{place()}: settings stand at the top of {FILE}, under no header [{name}]; drop that line"]
        if not is_known and (near := nearest(name, meant)):
            return [f'{place()}: there is no setting "{name}"{near}']
        if setting.is_environment and claims.is_foreign(name):
            logger.warning("%s means nothing to this server", setting.source)
            del self.options[name], self.settings[name]
            return []
        option = {name: self.options[name]}
        problems = claims.check_options("server", option, place)
        self.options.update(option)
        return problems


def sources_of_words(settings: Mapping[str, Setting]) -> dict[tuple[str, str], str]:
    """Where each word about plugins came from, by setting and word; of several sources the last."""
    return {
        (name, word): given.source
        for name in ("plugins", "plugin_order")
        for given in settings[name].given
        if isinstance(given.value, list | tuple)
        for word in given.value
        if isinstance(word, str)
    }


def _core(own: dict[str, Any], settings: Mapping[str, Setting], problems: list[str]) -> CoreSettings:
    """The settings of the core; of what is wrong, and told, the default holds."""
    try:
        return CoreSettings(**own)
    except ValidationError as error:
        for issue in issues(error, CoreSettings):
            name, *path = map(str, issue.path)
            source = settings[name].source_of(path) or settings[name].source
            problems.append(f"{'.'.join((name, *path))} from {source}: {issue.text}")
            own.pop(name, None)
        return _core(own, settings, problems)


def _plain(value: Any) -> Any:
    return dict(value) if isinstance(value, BaseModel) else value
