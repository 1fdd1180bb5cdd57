"""What holds of a server's settings once every source was read, and what is wrong with them."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Annotated, Any, Literal

from pydantic import BaseModel, ConfigDict, Field, ValidationError

from frontmcp.errors import ConfigurationError
from frontmcp.logs import LogOptions
from frontmcp.settings import Layer, Setting, environment_layer, file_layer, merge


class ListCache(BaseModel):
    """How long clients may keep lists (2026-07-28 on).

    :ivar ttl: in seconds.
    :ivar scope: ``"public"``, for anybody, holds only for lists that are the same for every caller.
    """

    model_config = ConfigDict(extra="forbid", frozen=True)

    ttl: Annotated[float, Field(ge=0)] = 0
    scope: Literal["public", "private"] = "private"


class CoreSettings(BaseModel):
    """The settings of the core itself; any other is an option that a plugin claims. See `FrontMcp`."""

    model_config = ConfigDict(frozen=True)

    instructions: str | None = None
    http: dict[str, Any] = {}
    pagination: Annotated[int, Field(gt=0)] | None = 40
    list_cache: ListCache = ListCache()
    max_call_depth: Annotated[int, Field(ge=0)] = 16
    thread_limit: Annotated[int, Field(gt=0)] = 40
    logging: LogOptions = LogOptions()
    plugins: list[Any] = []
    plugin_order: list[str] = []
    autoload_plugins: bool = True


class Configuration:
    """The layers of settings of one server.

    :param code: what `FrontMcp` was given.
    :param locked: settings that no other layer may give.
    """

    def __init__(self, code: dict[str, Any], locked: Sequence[str]) -> None:
        self._code = code
        self.locked = tuple(locked)
        self._more: tuple[Layer, ...] = (environment_layer(os.environ),)

    def add_plugin(self, plugin: Any, *, first: str | None) -> None:
        """Add a plugin to code's own; by its name to the front of the order, when given."""
        self._code["plugins"].append(plugin)
        if first is not None:
            self._code["plugin_order"].insert(0, first)

    def configure(self, file: Path | None, command_line: Mapping[str, Any] | None) -> None:
        """Take a settings file, the environment as it is now, and the command line.

        :raises ConfigurationError: the file can't be read, with the place.
        """
        layers = [environment_layer(os.environ), Layer("command line", command_line or {})]
        if file is not None:
            try:
                layers.insert(0, file_layer(file))
            except (OSError, ValueError) as error:
                raise ConfigurationError(f"settings file {file}: {error}") from error
        self._more = tuple(layers)

    def read(self) -> tuple[dict[str, Setting], CoreSettings, dict[str, Any], list[str]]:
        """Every setting with its source; those of the core; those for plugins; and what is wrong, in words."""
        settings, problems = merge((Layer("code", self._code), *self._more), self.locked)
        values = {name: setting.value for name, setting in settings.items()}
        own = {name: values.pop(name) for name in CoreSettings.model_fields}
        while True:
            try:
                return settings, CoreSettings(**own), values, problems
            except ValidationError as error:
                for issue in error.errors(include_url=False, include_input=False):
                    name = str(issue["loc"][0])
                    where = ".".join(map(str, issue["loc"]))
                    problems.append(f"{where} from {settings[name].source}: {issue['msg']}")
                    own.pop(name, None)
