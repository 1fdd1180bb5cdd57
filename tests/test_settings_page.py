"""The page of settings lists every setting, as it is."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from pydantic import BaseModel

from frontmcp import FrontMcp
from frontmcp.configuration import CoreSettings
from frontmcp.logs import LogOptions
from frontmcp.settings import ALIASES, NOT_SETTINGS, PREFIX
from frontmcp.transports.options import HttpOptions

PAGE = (Path(__file__).parent.parent / "docs" / "settings.md").read_text()
ROW = re.compile(r"^\| `(?P<name>[a-z_.]+)` \| [^|]+ \| (?P<default>[^|]+) \| (?P<variables>[^|]+) \|", re.MULTILINE)


def expected(model: type[BaseModel], table: str = "") -> Iterator[tuple[str, Any, str]]:
    for name, field in model.model_fields.items():
        default = field.get_default(call_default_factory=True)
        is_table = isinstance(default, BaseModel | dict)
        variable = PREFIX + f"{table}{name}".upper().replace(".", "__") + ("__…" if is_table else "")
        yield f"{table}{name}", {} if is_table else default, variable


def test_every_setting_is_listed_with_its_default_and_its_variable() -> None:
    wanted = [*expected(CoreSettings), *expected(HttpOptions, "http."), *expected(LogOptions, "logging.")]
    rows = {row["name"]: row for row in ROW.finditer(PAGE)}
    assert set(rows) == {name for name, _, _ in wanted}
    for name, default, variable in wanted:
        shown = rows[name]["default"].strip().strip("`")
        assert (None if shown == "none" else json.loads(shown)) == (list(default) if default == () else default), name
        assert f"`{variable}`" in rows[name]["variables"], name


def test_variables_that_mean_something_else_are_listed() -> None:
    for name in (*NOT_SETTINGS, *ALIASES):
        assert f"`{PREFIX}{name}`" in PAGE


def test_code_takes_every_setting() -> None:
    served = FrontMcp("page", **{name: field.default for name, field in CoreSettings.model_fields.items()})
    served.check()
    assert set(CoreSettings.model_fields) <= set(served.settings)
