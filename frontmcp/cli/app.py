"""The commands and their options; what they do is in the modules beside this one."""

from __future__ import annotations

from collections.abc import Sequence
from importlib.metadata import version
from typing import Annotated, Any, Literal, TypeAlias

import anyio
import typer

from frontmcp.call import Caller
from frontmcp.cli.failures import Failure, UsageFailure, failing_with_place
from frontmcp.cli.output import clean_stdout, columns, say
from frontmcp.cli.target import Source, read_target
from frontmcp.direct import caller_of
from frontmcp.errors import ConfigurationError
from frontmcp.loading import plugin_name
from frontmcp.settings import shown

UsageError: Any = typer.BadParameter.__base__
"""What a mistake in options is; it has no public name in typer."""

app = typer.Typer(
    name="frontmcp",
    help="Run, try and look into MCP servers.",
    no_args_is_help=True,
    rich_markup_mode=None,
    pretty_exceptions_enable=False,
    context_settings={"help_option_names": ["-h", "--help"]},
)

TARGET_HELP = "A file, a module, file.py:attribute or module:attribute."
Target: TypeAlias = Annotated[str, typer.Argument(metavar="TARGET", help=TARGET_HELP, show_default=False)]
Plugins: TypeAlias = Annotated[
    list[str] | None,
    typer.Option("-p", "--plugin", metavar="NAME", help="Allow a plugin, or switch it off with no:NAME. Repeatable."),
]
Config: TypeAlias = Annotated[
    str | None,
    typer.Option(metavar="FILE", envvar="FRONTMCP_CONFIG", help="Settings file instead of the one beside the target."),
]
Host: TypeAlias = Annotated[str | None, typer.Option(help="Address to bind; 127.0.0.1 by default.")]
Port: TypeAlias = Annotated[
    int | None, typer.Option(min=0, max=65535, help="Port to bind; 8000 by default, 0 takes a free one.")
]
As: TypeAlias = Annotated[str | None, typer.Option("--as", metavar="SUB", help="Who calls.")]
Roles: TypeAlias = Annotated[
    list[str] | None, typer.Option("--role", metavar="R", help="A role they have. Repeatable.")
]
Json: TypeAlias = Annotated[bool, typer.Option("--json", help="Print JSON.")]


def run(arguments: Sequence[str] | None = None) -> int:
    """Run a command; its exit code. What goes wrong is one line on stderr."""
    command = typer.main.get_command(app)
    try:
        code = command.main(arguments, prog_name="frontmcp", standalone_mode=False)
    except UsageError as error:
        return _wrong_usage(error)
    except Failure as failure:
        say(f"error: {failure}")
        return failure.exit_code
    except ConfigurationError as error:
        say(f"error: {error}")
        return 1
    return code if isinstance(code, int) else 0


def _wrong_usage(error: Any) -> int:
    if type(error).__name__ == "NoArgsIsHelpError":
        say(error.format_message())
        return 2
    context = error.ctx
    hint = f"; see {context.command_path} --help" if context is not None else ""
    say(f"error: {error.format_message().rstrip('.')}{hint}")
    return 2


def _show_version(wanted: bool) -> None:
    if wanted:
        typer.echo(version("frontmcp"))
        raise typer.Exit


@app.callback()
def _main(
    _version: Annotated[
        bool, typer.Option("--version", callback=_show_version, is_eager=True, help="Show the version and exit.")
    ] = False,
) -> None:
    """Options of the program itself."""


@app.command("run")
def run_(
    target: Target,
    http: Annotated[bool, typer.Option("--http", help="Serve over HTTP instead of stdio.")] = False,
    host: Host = None,
    port: Port = None,
    workers: Annotated[int, typer.Option(min=1, help="Processes that serve HTTP; above 1 only with --stateless.")] = 1,
    stateless: Annotated[bool, typer.Option("--stateless", help="No sessions: any worker can answer.")] = False,
    plugin: Plugins = None,
    config: Config = None,
    show_settings: Annotated[
        bool, typer.Option("--show-settings", help="Show each setting and where it came from, and exit.")
    ] = False,
    transport: Annotated[str | None, typer.Option("--transport", "-t", hidden=True)] = None,
) -> None:
    """Serve a server, over stdio or HTTP."""
    if transport is not None:
        raise UsageFailure("there is no --transport: write --http to serve over HTTP; without it stdio is served")
    source = _source(target, plugin, config, {"host": host, "port": port, "stateless": stateless or None})
    if show_settings:
        return _print_settings(source)
    if not http:
        _refuse_http_options(host=host, port=port, workers=workers > 1 or None, stateless=stateless or None)
        from frontmcp.cli.stdio import serve_stdio

        return serve_stdio(source)
    from frontmcp.cli.serve import serve_http

    return serve_http(source, workers)


def _refuse_http_options(**given: Any) -> None:
    for name, value in given.items():
        if value is not None:
            raise UsageFailure(f"--{name} is for HTTP: add --http, or drop it")


def _source(
    target: str | None, plugins: Sequence[str] | None, config: str | None, http: dict[str, Any] | None = None
) -> Source:
    settings: dict[str, Any] = {"plugins": list(plugins)} if plugins else {}
    if given := {name: value for name, value in (http or {}).items() if value is not None}:
        settings["http"] = given
    return Source(target, settings, config)


def _print_settings(source: Source) -> None:
    with clean_stdout():
        server = source.load()
    typer.echo(columns([("SETTING", "VALUE", "FROM"), *shown(server.settings, plugin_name)]))


@app.command()
def dev(
    target: Target,
    host: Host = None,
    port: Port = None,
    stdio: Annotated[bool, typer.Option("--stdio", hidden=True)] = False,
    plugin: Plugins = None,
    config: Config = None,
) -> None:
    """Serve over HTTP, show errors whole, and reload when a file changes."""
    if stdio:
        raise UsageFailure(
            "dev can't reload over stdio, where the client owns the process and its pipes; "
            f'drop --stdio, or let the client start "frontmcp run {target}"'
        )
    from frontmcp.cli.dev import develop

    develop(_source(target, plugin, config, {"host": host, "port": port}), read_target(target))


@app.command()
def call(
    target: Target,
    tool: Annotated[str, typer.Argument(metavar="TOOL", help="The tool's name.", show_default=False)],
    arguments: Annotated[
        list[str] | None,
        typer.Argument(metavar="KEY=VALUE", help="JSON where the tool takes such, else text.", show_default=False),
    ] = None,
    json_text: Annotated[
        str | None, typer.Option("--json", metavar="JSON", help="All arguments as one JSON object.")
    ] = None,
    output: Annotated[Literal["text", "json"], typer.Option(help="The result's text, or the whole result.")] = "text",
    as_: As = None,
    role: Roles = None,
    trace: Annotated[
        bool, typer.Option("--trace", help="Show the tree of nested calls with the time of each stage.")
    ] = False,
    plugin: Plugins = None,
    config: Config = None,
) -> int:
    """Call one tool and print its result."""
    from frontmcp.cli.call import perform, read_call
    from frontmcp.cli.trace import Trace, show

    wanted = read_call(tool, arguments or (), json_text)
    source = _source(target, plugin, config)
    seen = Trace() if trace else None
    with clean_stdout():
        server = source.load(first=seen)
        try:
            text, code = perform(server, wanted, _caller(as_, role), output, source.folder)
        finally:
            for traced in seen.calls if seen is not None else ():
                show(traced)
    if text:
        typer.echo(text)
    return code


def _caller(sub: str | None, roles: Sequence[str] | None) -> Caller:
    user = {"roles": roles or ()} if sub is None else {"sub": sub, "roles": roles or ()}
    return caller_of({"user": user})


@app.command("list")
def list_(
    target: Target,
    everything: Annotated[
        bool, typer.Option("--all", help="Also what a client does not see, marked with the reason.")
    ] = False,
    as_json: Json = False,
    as_: As = None,
    role: Roles = None,
    plugin: Plugins = None,
    config: Config = None,
) -> None:
    """Show the tools, resources, templates and prompts that a client sees."""
    from frontmcp.cli.reports import listed, listed_as_json, listed_as_text

    source = _source(target, plugin, config)
    with clean_stdout():
        server = source.load()
        with failing_with_place(source.folder):
            found = anyio.run(listed, server, _caller(as_, role), everything)
    typer.echo(listed_as_json(found) if as_json else listed_as_text(found))


@app.command()
def plugins(
    target: Annotated[str | None, typer.Argument(metavar="TARGET", help=TARGET_HELP, show_default=False)] = None,
    tool: Annotated[
        str | None, typer.Option(metavar="NAME", help="Show the plan of one tool: its stages and their hooks.")
    ] = None,
    as_json: Json = False,
    plugin: Plugins = None,
    config: Config = None,
) -> int:
    """Show the plugins of a server, or of this environment, in the order in which they run."""
    if tool is not None:
        if target is None:
            raise UsageFailure("--tool needs a TARGET that has the tool")
        return _print_plan(_source(target, plugin, config), tool, as_json=as_json)
    return _print_plugins(_source(target, plugin, config), as_json=as_json)


def _print_plan(source: Source, tool: str, *, as_json: bool) -> int:
    from frontmcp.cli.reports import plan_as_text, plan_report, to_json

    with clean_stdout():
        server = source.load()
        with failing_with_place(source.folder):
            report = anyio.run(plan_report, server, tool)
    typer.echo(to_json(report) if as_json else plan_as_text(report))
    return 0


def _print_plugins(source: Source, *, as_json: bool) -> int:
    from frontmcp.cli.reports import plugins_as_text, plugins_report, to_json

    with clean_stdout():
        server = source.load_unchecked()
        report = plugins_report(server)
    typer.echo(to_json({"plugins": report}) if as_json else plugins_as_text(report))
    try:
        server.check()
    except ConfigurationError as error:
        raise source.cannot_start(error) from error
    return 0


@app.command()
def new(
    name: Annotated[
        str, typer.Argument(metavar="NAME", help="Its name; a folder of that name is made.", show_default=False)
    ],
    plugin: Annotated[bool, typer.Option("--plugin", help="A plugin package instead of a server.")] = False,
) -> None:
    """Start a server, or a plugin package, with tests that pass."""
    from frontmcp.cli.new import make

    for line in make(name, plugin=plugin):
        say(line)
