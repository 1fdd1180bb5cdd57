"""TARGET: the forms it takes, which server it means, and what is said of a broken one."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

from frontmcp.cli.failures import Failure, UsageFailure
from frontmcp.cli.target import Source, read_target

HELPER = """\
def fail():
    return 1 / 0

def errors():
    for _ in range(2):
        try:
            fail()
        except ArithmeticError as error:
            yield error
"""

ONE = """\
from frontmcp import FrontMcp

x = 5
desk = FrontMcp("desk")
same = desk
"""


@pytest.mark.parametrize(
    ("text", "module", "attribute"),
    [
        ("one.py", "one", None),
        ("one.py:desk", "one", "desk"),
        ("./one.py", "one", None),
        ("one", "one", None),
        ("one:desk", "one", "desk"),
        ("pack.one:holder.desk", "pack.one", "holder.desk"),
    ],
)
def test_a_target_is_read(text, module, attribute, write):
    write("one.py", ONE)
    target = read_target(text)
    assert (target.module, target.attribute) == (module, attribute)


@pytest.mark.parametrize("text", ["one.py", "one.py:desk", "one.py:same", "one", "one:desk"])
def test_the_server_is_found(text, write):
    write("one.py", ONE)
    assert Source(text).load().name == "desk"


def test_a_module_in_a_package_with_relative_imports(write):
    write("pack/__init__.py", "")
    write("pack/names.py", 'NAME = "packed"')
    write("pack/one.py", "from frontmcp import FrontMcp\nfrom .names import NAME\nmcp = FrontMcp(NAME)")
    assert Source("pack.one").load().name == "packed"


def test_the_files_folder_is_on_the_path_and_main_does_not_run(write, folder):
    write("sub/helper.py", 'NAME = "helped"')
    write(
        "sub/one.py",
        'from frontmcp import FrontMcp\nfrom helper import NAME\nmcp = FrontMcp(NAME)\nif __name__ == "__main__": x',
    )
    assert Source("sub/one.py").load().name == "helped"
    assert sys.path[0] == str(folder / "sub")


def test_a_file_may_be_called_like_a_module_that_is_loaded(write):
    write("json.py", 'from frontmcp import FrontMcp\nmcp = FrontMcp("mine")')
    assert Source("json.py").load().name == "mine"
    assert "frontmcp" in sys.modules["json"].__file__ or "lib" in sys.modules["json"].__file__


@pytest.mark.parametrize("name", ["server", "mcp", "app"])
def test_of_several_servers_one_name_is_meant(name, write):
    servers = f'other = FrontMcp("other")\n{name} = FrontMcp("meant")\nlast = FrontMcp("last")'
    write("many.py", f"from frontmcp import FrontMcp\n{servers}")
    assert Source("many.py").load().name == "meant"


@pytest.mark.parametrize(
    ("target", "message"),
    [
        ("many.py", "many.py has several servers: one, two; name one, like many.py:one"),
        ("many.py:three", "many.py has no three; its servers: one, two"),
        ("many.py:x", "many.py: x is no FrontMcp server but of type int"),
        ("mny.py", 'there is no file mny.py; did you mean "many.py"?'),
        ("mny", 'there is no module "mny", neither here nor installed; did you mean "many"?'),
        ("many.none", 'there is no module "many.none", neither here nor installed; did you mean "many"?'),
        ("empty.py", 'empty.py has no server: write server = FrontMcp("name", tools=[…]) in it'),
        (
            "old.py",
            "old.py has no FrontMcp, but a server of another make, old: serve it with "
            'server = FrontMcp("name", apps=[App.from_mcp(old)])',
        ),
        ("./sub", "sub is a folder; name the file in it that has the server, like sub/server.py"),
        ("./notes.txt", "notes.txt is no Python file; a target is a file that ends in .py, or a module"),
        ("a b", '"a b" is no target: give a file, a module, file.py:attribute or module:attribute'),
    ],
)
def test_what_was_typed_is_wrong(target, message, write):
    write("many.py", 'from frontmcp import FrontMcp\nx = 5\none = FrontMcp("1")\ntwo = FrontMcp("2")')
    write("old.py", 'from mcp.server import MCPServer\nold = MCPServer("old")')
    write("empty.py", "")
    write("notes.txt", "")
    write("sub/__init__.py", "")
    with pytest.raises(UsageFailure) as caught:
        Source(target).load()
    assert str(caught.value) == message


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("x = 1\ndef f(:\n    pass", "bad.py:2: SyntaxError: invalid syntax"),
        ("import helper\nhelper.fail()", "helper.py:2: ZeroDivisionError: division by zero"),
        ("raise SystemExit(3)", "bad.py:1: it exits with 3 when it is imported"),
        (
            "\nimport nowhere_to_be_found",
            "bad.py:2: ModuleNotFoundError: No module named 'nowhere_to_be_found'; install",
        ),
        ("from . import helper", "bad.py:1: ImportError: attempted relative import with no known parent package; give"),
        (
            "import helper\nraise ExceptionGroup('many', [KeyError('k'), ExceptionGroup('in', list(helper.errors()))])",
            "bad.py:2: many: bad.py:2: KeyError: 'k'; helper.py:2: ZeroDivisionError: division by zero; helper.py:2: Z",
        ),
        (
            "import helper\nraise BaseExceptionGroup('one', list(helper.errors())[:1])",
            "helper.py:2: ZeroDivisionError: division by zero",
        ),
        (
            'from frontmcp import Tool\n@Tool(name="a b")\ndef f(): ...',
            "bad.py:2: Tool name 'a b' is not allowed: 1 to 128 of the characters A-Z a-z 0-9 _ . -",
        ),
    ],
)
@pytest.mark.parametrize("target", ["bad.py", "bad"])
def test_a_target_that_can_not_be_imported(target, text, message, write):
    write("helper.py", HELPER)
    write("bad.py", text)
    with pytest.raises(Failure) as caught:
        Source(target).load()
    assert str(caught.value).startswith(message)
    assert caught.value.exit_code == 1
    assert "\n" not in str(caught.value)


def test_all_problems_of_the_start_are_told(write, frontmcp):
    write(
        "bad.py",
        """\
        from frontmcp import FrontMcp, Tool

        @Tool(visiblity="hidden")
        def f() -> None: ...

        server = FrontMcp("bad", tools=[f], throtle={})
        """,
    )
    ran = frontmcp("list", "bad.py")
    assert (ran.code, ran.out) == (1, "")
    first, *problems = ran.err.splitlines()
    assert first == "error: bad.py can't start, 2 problems:"
    assert len(problems) == 2
    assert 'did you mean "visibility"?' in ran.err


def test_settings_beside_the_target_and_of_the_command_line(write):
    write("one.py", ONE)
    write("frontmcp.toml", "pagination = 7\n[http]\nport = 9000\n")
    server = Source("one.py", {"http": {"port": 9001}}).load()
    assert server.pagination == 7
    assert server.http_options().port == 9001
    other = write("other.toml", "pagination = 8")
    assert Source("one.py", {}, str(other)).load().pagination == 8


def test_a_server_that_checked_itself_still_takes_the_operators_words(write):
    write("one.py", ONE + "desk.check()\n")
    server = Source("one.py", {"plugins": ["no:aliasing"]}).load()
    assert [info.name for info in server.plugins.infos if info.status == "disabled"] == ["aliasing"]


def test_labels_are_relative_to_the_working_directory(write, folder):
    write("one.py", ONE)
    assert read_target(str(folder / "one.py")).label == "one.py"
    assert read_target(str(Path("one.py"))).label == "one.py"
