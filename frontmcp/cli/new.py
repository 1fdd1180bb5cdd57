"""``frontmcp new``: a server, or a plugin package, with tests that pass."""

from __future__ import annotations

import keyword
import re
import sys
from collections.abc import Iterator
from pathlib import Path
from string import Template
from typing import Final

from frontmcp.cli.failures import UsageFailure
from frontmcp.server import FrontMcp

TEMPLATES: Final = Path(__file__).parent / "templates"
SUFFIX: Final = ".tmpl"
NAME: Final = re.compile(r"[A-Za-z][A-Za-z0-9_.-]{0,63}")


def make(path: str, *, plugin: bool) -> Iterator[str]:
    """Write the files; what was made and what to do next, a line each.

    :param path: a new folder; its last part is the name.
    :raises UsageFailure: the name can't be one, or the folder has something in it.
    """
    folder = Path(path)
    words = words_for(folder.name, plugin=plugin)
    if folder.exists() and (not folder.is_dir() or any(folder.iterdir())):
        raise UsageFailure(f"{folder} is there already; choose another name")
    kind = "plugin" if plugin else "server"
    for template in sorted((TEMPLATES / kind).rglob(f"*{SUFFIX}")):
        yield f"made {_write(template, TEMPLATES / kind, folder, words)}"
    yield f"next: cd {folder} && pytest" + ("" if plugin else " && frontmcp dev server.py")


def _write(template: Path, root: Path, folder: Path, words: dict[str, str]) -> Path:
    relative = str(template.relative_to(root)).removesuffix(SUFFIX).replace("MODULE", words["module"])
    file = folder / relative
    file.parent.mkdir(parents=True, exist_ok=True)
    file.write_text(Template(template.read_text(encoding="utf-8")).substitute(words), encoding="utf-8")
    return file


def words_for(name: str, *, plugin: bool) -> dict[str, str]:
    """What a name means to the templates.

    :raises UsageFailure: it can't be a name, with the reason.
    """
    if NAME.fullmatch(name) is None:
        raise UsageFailure(f'"{name}" is no name: a letter, then up to 63 of A-Z a-z 0-9 _ . -')
    own = name.removeprefix("frontmcp-") or name
    module = _identifier(name)
    if plugin and (
        own in _built_in() or module in sys.stdlib_module_names or module in ("frontmcp", "plugins_builtin")
    ):
        raise UsageFailure(f'"{name}" is taken: there is a built-in plugin or a Python module of that name')
    if plugin and any(keyword.iskeyword(word) for word in (module, _identifier(own))):
        raise UsageFailure(f'"{name}" is a word of Python itself; choose another name')
    return {
        "name": name,
        "distribution": re.sub(r"[._-]+", "-", name).lower(),
        "module": module,
        "plugin": own,
        "option": _identifier(own),
        "class_name": "".join(word.title() for word in re.split(r"[._-]+", own)),
    }


def _built_in() -> set[str]:
    return {info.name for info in FrontMcp("any", autoload_plugins=False).plugins.infos}


def _identifier(name: str) -> str:
    return re.sub(r"[.-]", "_", name).lower()
