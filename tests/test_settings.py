"""Settings: four sources, the later winning, and every wrong one named with where it came from."""

from __future__ import annotations

import gc
import weakref
from pathlib import Path
from typing import Any

import pytest
from pydantic import BaseModel, ConfigDict

from frontmcp import ConfigurationError, FrontMcp, Option, Plugin
from frontmcp.settings import Layer, environment_layer, file_layer, find_file, merge, shown


class Audit(Plugin):
    name = "acme.audit"
    options = (Option("audit_log", dict[str, Any], server=True),)


def server(**options: Any) -> FrontMcp:
    return FrontMcp("settings", plugins=[Audit], autoload_plugins=False, **options)


def test_each_source_wins_over_the_one_before(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "frontmcp.toml").write_text("pagination = 2\nmax_call_depth = 2\nthread_limit = 2\n")
    monkeypatch.setenv("FRONTMCP_MAX_CALL_DEPTH", "3")
    monkeypatch.setenv("FRONTMCP_THREAD_LIMIT", "3")
    served = server(pagination=1, max_call_depth=1, thread_limit=1)
    served.configure(file=tmp_path / "frontmcp.toml", command_line={"thread_limit": 4})
    served.check()
    assert (served.pagination, served.settings["max_call_depth"].value, served.threads.limit) == (2, 3, 4)
    assert served.settings["pagination"].source.endswith("frontmcp.toml")
    assert served.settings["max_call_depth"].source == "FRONTMCP_MAX_CALL_DEPTH"
    assert served.settings["thread_limit"].source == "command line"
    assert served.settings["instructions"].source == "default"


def test_nested_settings_are_merged_key_by_key(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("FRONTMCP_HTTP__PORT", "9000")
    monkeypatch.setenv("FRONTMCP_AUDIT_LOG__STORE", "redis://localhost")
    served = server(
        http={"host": "0.0.0.0", "port": 1, "allowed_hosts": ["x"]}, audit_log={"store": "file", "level": 3}
    )
    served.check()
    assert (served.http_options().host, served.http_options().port) == ("0.0.0.0", 9000)
    assert served.options["audit_log"] == {"store": "redis://localhost", "level": 3}


def test_words_about_plugins_add_up(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("FRONTMCP_PLUGINS", "no:aliasing, no:visibility")
    served = server()
    served.check()
    status = {info.name: info.status for info in served.plugins.infos}
    assert {name for name, each in status.items() if each == "disabled"} == {"aliasing", "visibility"}
    assert status["acme.audit"] == "active"


def test_autoload_has_a_variable_of_its_own(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("FRONTMCP_PLUGIN_AUTOLOAD", "0")
    served = FrontMcp("settings")
    served.check()
    assert served.settings["autoload_plugins"].value == 0


def test_all_wrong_settings_are_told_at_once_with_their_source(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("FRONTMCP_PAGINATION", "none")
    monkeypatch.setenv("FRONTMCP_HTTP__PROT", "1")
    monkeypatch.setenv("FRONTMCP_AUDIT_LGO__LEVEL", "1")
    served = server(max_call_depth="deep")
    with pytest.raises(ConfigurationError) as refused:
        served.check()
    told = "\n".join(refused.value.problems)
    assert "pagination from FRONTMCP_PAGINATION" in told
    assert 'setting from FRONTMCP_AUDIT_LGO: no plugin claims the option "audit_lgo"' in told
    assert "http.prot from FRONTMCP_HTTP__PROT: " in told
    assert 'option "audit_lgo"; did you mean "audit_log"?' in told
    assert "max_call_depth from code" in told


def test_a_variable_that_means_nothing_here_is_passed_over(
    monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    monkeypatch.setenv("FRONTMCP_OTHER_PROGRAMS_VARIABLE", "1")
    served = server()
    served.check()
    assert "FRONTMCP_OTHER_PROGRAMS_VARIABLE means nothing" in caplog.text
    assert "other_programs_variable" not in served.settings


def test_a_variable_for_a_plugin_that_is_off_stops_the_start(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("FRONTMCP_AUDIT_LOG__LEVEL", "1")
    monkeypatch.setenv("FRONTMCP_PLUGINS", "no:acme.audit")
    with pytest.raises(ConfigurationError, match=r'plugin "acme.audit".* is disabled'):
        server().check()


def test_locked_settings_stay_in_codes_hands(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("FRONTMCP_AUDIT_LOG__LEVEL", "0")
    monkeypatch.setenv("FRONTMCP_AUDIT_LOG__STORE", "x")
    served = server(audit_log={"level": 3}, locked=("audit_log",))
    served.configure(command_line={"audit_log": {"level": 1}})
    with pytest.raises(ConfigurationError) as refused:
        served.check()
    sources = ("FRONTMCP_AUDIT_LOG__LEVEL", "FRONTMCP_AUDIT_LOG__STORE", "command line")
    assert refused.value.problems == [
        f"audit_log from {source}: it is locked, only code may set it" for source in sources
    ]


def test_a_settings_file_that_is_no_toml_is_named_with_the_place(tmp_path: Path) -> None:
    (tmp_path / "frontmcp.toml").write_text("pagination = = 2\n")
    with pytest.raises(ConfigurationError, match=r"frontmcp\.toml: .*line 1"):
        server().configure(file=tmp_path / "frontmcp.toml")


def test_the_file_beside_a_target_is_found(tmp_path: Path) -> None:
    assert find_file(tmp_path) is None
    (tmp_path / "pyproject.toml").write_text('[project]\nname = "x"\n')
    assert find_file(tmp_path) is None
    (tmp_path / "pyproject.toml").write_text("[tool.frontmcp]\npagination = 7\n")
    found = find_file(tmp_path)
    assert found is not None
    assert file_layer(found).values == {"pagination": 7}
    (tmp_path / "frontmcp.toml").write_text("")
    assert find_file(tmp_path) == tmp_path / "frontmcp.toml"


@pytest.mark.parametrize(
    ("text", "value"),
    [("9000", 9000), ("true", True), ("null", None), ("[1]", [1]), ("redis://x", "redis://x"), ("", "")],
)
def test_values_of_the_environment_are_json_where_they_can_be(text: str, value: Any) -> None:
    assert environment_layer({"FRONTMCP_X": text}).values == {"x": value}


def test_a_number_where_a_text_is_wanted_is_text(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("FRONTMCP_HTTP__HOST", "1")
    monkeypatch.setenv("FRONTMCP_HTTP__ALLOWED_HOSTS", "[2]")
    monkeypatch.setenv("FRONTMCP_INSTRUCTIONS", "42")
    served = FrontMcp("settings")
    served.check()
    options = served.http_options()
    assert (options.host, options.allowed_hosts, served.instructions) == ("1", ["2"], "42")


def test_lists_of_names_may_be_written_with_commas(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("FRONTMCP_HTTP__ALLOWED_HOSTS", "mcp.example.com, localhost:*")
    monkeypatch.setenv("FRONTMCP_HTTP__CORS_ORIGINS", "https://example.com")
    served = FrontMcp("settings")
    served.check()
    options = served.http_options()
    assert (options.allowed_hosts, options.cors_origins) == (
        ["mcp.example.com", "localhost:*"],
        ["https://example.com"],
    )


@pytest.mark.parametrize("value", ["5", "{}"])
def test_what_is_no_list_is_told(monkeypatch: pytest.MonkeyPatch, value: str) -> None:
    monkeypatch.setenv("FRONTMCP_HTTP__ALLOWED_HOSTS", value)
    with pytest.raises(ConfigurationError) as refused:
        FrontMcp("settings").check()
    told = "http.allowed_hosts from FRONTMCP_HTTP__ALLOWED_HOSTS: Input should be a list"
    assert refused.value.problems == [told]


def test_the_level_of_logs_may_be_written_small(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("FRONTMCP_LOGGING__LEVEL", "debug")
    served = FrontMcp("settings")
    served.check()
    assert served.log_options.level == "DEBUG"


def test_a_wrong_word_about_plugins_is_told_with_its_source(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("FRONTMCP_PLUGINS", "no:alaising")
    monkeypatch.setenv("FRONTMCP_PLUGIN_ORDER", "guardz")
    served = FrontMcp("settings", plugins=["acme_which_is_not_there"])
    served.configure(command_line={"plugins": ["no:formatting"]})
    with pytest.raises(ConfigurationError) as refused:
        served.check()
    assert sorted(problem.partition(": ")[0] for problem in refused.value.problems) == [
        "plugin_order from FRONTMCP_PLUGIN_ORDER",
        "plugins from FRONTMCP_PLUGINS",
        "plugins from code",
        "plugins from command line",
    ]


@pytest.mark.parametrize("header", ["frontmcp", "tool.frontmcp"])
def test_the_settings_file_has_no_header_of_its_own(header: str, tmp_path: Path) -> None:
    (tmp_path / "frontmcp.toml").write_text(f"[{header}]\npagination = 3\n")
    served = server()
    served.configure(file=tmp_path / "frontmcp.toml")
    with pytest.raises(ConfigurationError, match=r"frontmcp\.toml: settings stand at the top .* under no header \["):
        served.check()


def test_the_environment_is_no_setting(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Passed over, errors would be shown whole by a server that was told not to."""
    monkeypatch.setenv("FRONTMCP_ENVIRONMENT", "production")
    with pytest.raises(ConfigurationError, match=r"from FRONTMCP_ENVIRONMENT: .* FRONTMCP_ENV, or environment="):
        server().check()
    monkeypatch.delenv("FRONTMCP_ENVIRONMENT")
    (tmp_path / "frontmcp.toml").write_text('environment = "production"\n')
    served = server()
    served.configure(file=tmp_path / "frontmcp.toml")
    with pytest.raises(ConfigurationError, match=r"frontmcp\.toml: .* FRONTMCP_ENV, or environment="):
        served.check()


def test_other_variables_are_left_alone() -> None:
    environ = {"FRONTMCP_ENV": "test", "FRONTMCP_STATE_KEYS": "k", "PATH": "/bin", "FRONTMCP_": "x"}
    assert environment_layer(environ).values == {}


def test_secrets_are_not_shown() -> None:
    settings, _ = merge([Layer("code", {"auth": {"client_secret": "s3cret"}, "store": "redis://user:s3cret@host/0"})])
    told = repr(list(shown(settings, repr)))
    assert "s3cret" not in told
    assert "host/0" in told


def test_what_stands_under_a_secret_name_is_secret_too() -> None:
    settings, _ = merge([Layer("code", {"auth": {"tokens": {"s3cret": "nour"}, "leeway": 3}})])
    assert sorted(shown(settings, repr)) == [("auth.leeway", "3", "code"), ("auth.tokens", '"********"', "code")]


class Inner(BaseModel):
    model_config = ConfigDict(extra="forbid")

    level: int = 0


class Outer(BaseModel):
    model_config = ConfigDict(extra="forbid")

    inner: Inner | None = None
    many: list[Inner] = []


class Nested(Plugin):
    name = "acme.nested"
    options = (
        Option("nested", Outer, server=True),
        Option("named", f"{Outer.__module__}:Outer", server=True),
        Option("on_tool", Outer, kinds=("tool",)),
    )


@pytest.mark.parametrize(
    ("path", "near"),
    [
        ("http.prot", "port"),
        ("list_cache.tll", "ttl"),
        ("logging.fromat", "format"),
        ("nested.iner", "inner"),
        ("nested.inner.levle", "level"),
        ("named.inner.levle", "level"),
        ("throttle.default_rate_limit.max_request", "max_requests"),
        ("authorities.profile", "profiles"),
        ("auth.audiense", "audience"),
    ],
)
@pytest.mark.parametrize("by", ["code", "frontmcp.toml", "environment", "command line"])
def test_a_wrong_key_inside_a_table_has_its_nearest_name_and_its_source(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, path: str, near: str, by: str
) -> None:
    name, *inside, key = path.split(".")
    table: dict[str, Any] = {key: 1}
    for step in reversed(inside):
        table = {step: table}
    variable = f"FRONTMCP_{path.upper().replace('.', '__')}"
    if by == "environment":
        monkeypatch.setenv(variable, "1")
    if by == "frontmcp.toml":
        (tmp_path / by).write_text(f"[{'.'.join((name, *inside))}]\n{key} = 1\n")
    served = FrontMcp("settings", plugins=[Nested], **({name: table} if by == "code" else {}))
    file = tmp_path / by if by == "frontmcp.toml" else None
    served.configure(file=file, command_line={name: table} if by == "command line" else None)
    with pytest.raises(ConfigurationError) as refused:
        served.check()
    source = {"environment": variable, "frontmcp.toml": str(file)}.get(by, by)
    hint = f'did you mean "{near}"?'
    assert any(f"from {source}: " in problem and hint in problem for problem in refused.value.problems)


def test_wrong_keys_of_one_table_have_each_their_own_source(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("FRONTMCP_NESTED__INER__LEVEL", "1")
    served = FrontMcp("settings", plugins=[Nested], nested={"inner": {"levle": 1}, "many": [{"lvel": 1}]})
    with pytest.raises(ConfigurationError) as refused:
        served.check()
    wrong = "there is no such key; did you mean"
    assert sorted(refused.value.problems) == [
        f'setting from FRONTMCP_NESTED__INER: option nested: iner: {wrong} "inner"?',
        f'setting from code: option nested: inner.levle: {wrong} "level"?; many.0.lvel: {wrong} "level"?',
    ]


def test_a_wrong_option_of_http_app_has_its_nearest_name() -> None:
    with pytest.raises(ConfigurationError, match=r'http option prot: .*; did you mean "port"\?'):
        server().http_app(prot=1)


def test_a_default_is_told_from_what_code_says() -> None:
    served = server(max_call_depth=3, http={"port": 1})
    assert served.settings["pagination"].source == "default"
    assert served.settings["max_call_depth"].source == "code"
    rows = {name: (value, source) for name, value, source in shown(served.settings, repr)}
    assert rows["http.port"] == ("1", "code")
    assert rows["http.path"] == ('"/mcp"', "default")
    assert rows["logging.level"] == ('"INFO"', "default")


def test_a_wire_that_was_replaced_hears_of_no_changes() -> None:
    served = server()
    wires = []
    for change in (served.configure, lambda: served.add_plugin(Nested), served.configure):
        wires.append(weakref.ref(served.wire))
        change()
    last = served.wire
    assert served._changes._listeners == [last.changes.publish]
    gc.collect()
    assert [wire for wire in wires if wire() is not None] == []
