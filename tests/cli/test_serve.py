import sys

import pytest
from typer.testing import CliRunner

from treewass.cli.app import app

TOKEN = "a-token-of-24-characters"


@pytest.fixture
def call(monkeypatch):
    """Run the command up to where it would serve; gives its result and what it would serve with."""
    monkeypatch.delenv("TREEWASS_TOKEN", raising=False)
    calls = []

    def record(folder, settings, **options):
        calls.append((folder, settings, options))
        options["announce"]("http://127.0.0.1:1234")

    monkeypatch.setattr("treewass.serve.running.run_service", record)

    def call(*arguments):
        result = CliRunner().invoke(app, ["serve", "model", *map(str, arguments)])
        return result, calls[-1] if calls else None

    return call


def test_by_default_it_is_read_only_and_on_this_machine(call):
    result, (folder, settings, options) = call()
    assert result.output == "Serving model at http://127.0.0.1:1234 (read only). Stop with Ctrl+C.\n"
    assert (str(folder), options["host"], options["port"], options["workers"]) == ("model", "127.0.0.1", 8000, 1)
    assert settings.token is None
    assert set(settings.host_names) == {"127.0.0.1", "localhost", "::1"}


def test_the_token_comes_from_a_file_or_the_environment(call, tmp_path, monkeypatch):
    (tmp_path / "token").write_text(f"{TOKEN}\n", encoding="utf-8")
    result, (_, settings, _) = call(
        "--token-file", tmp_path / "token", "--protect-reads", "--host-name", "search.example"
    )
    assert "(writes with the token, reads with a token)" in result.output
    assert (settings.token, settings.protect_reads) == (TOKEN, True)
    assert "search.example" in settings.host_names
    monkeypatch.setenv("TREEWASS_TOKEN", TOKEN)
    assert call()[1][1].token == TOKEN


def test_a_wrong_token_file_is_refused(call, tmp_path):
    for content, message in (
        (b"short", "at least 16 printable"),
        (b"", "at least 16 printable"),
        (b"\xff" * 20, "Expected text in"),
    ):
        (tmp_path / "token").write_bytes(content)
        result, called = call("--token-file", tmp_path / "token")
        assert message in str(result.exception)
        assert called is None
    result, _ = call("--protect-reads")
    assert "Expected a token to protect reads with: give --token-file" in str(result.exception)


def test_a_token_file_that_cannot_be_read_is_named_with_what_it_should_hold(call, tmp_path):
    for path in (tmp_path / "no", tmp_path):
        result, called = call("--token-file", path)
        assert str(result.exception).startswith(
            "Expected --token-file to name a file that holds a token, at least 16 printable ASCII "
            f"characters, but {path} cannot be read: "
        )
        assert "Errno" not in str(result.exception)
        assert called is None


def test_another_address_is_warned_about_unless_reads_are_protected(call, tmp_path):
    result, (_, settings, options) = call("--host", "0.0.0.0")
    assert "whoever reaches this address can read the documents" in result.output
    assert (options["host"], settings.host_names) == ("0.0.0.0", ())
    (tmp_path / "token").write_text(TOKEN, encoding="utf-8")
    assert "warning" not in call("--host", "0.0.0.0", "--token-file", tmp_path / "token", "--protect-reads")[0].output


def test_a_missing_extra_is_named(call, monkeypatch):
    monkeypatch.setitem(sys.modules, "fastapi", None)
    result, called = call()
    sentence = "treewass serve needs the module 'fastapi'. Install it with: pip install \"fastapi>="
    assert str(result.exception).startswith(sentence)
    assert called is None
