"""Scripts where they live: Lua files, Elixir sources, folders."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from emqsim.check import check
from emqsim.commands.main import main
from emqsim.scripts.bundle import bundled_scripts
from emqsim.sources import load_all, load_scripts


def elixir(folder: Path, text: str, name: str = "scripts.ex") -> Path:
    path = folder / name
    path.write_bytes(text.encode("utf-8", "surrogateescape"))
    return path


def as_module(scripts: dict[str, str], raw: bool = False) -> str:
    """An Elixir module with each script in a heredoc, indented as a formatter leaves it."""
    parts = ["defmodule Jobs.Scripts do\n", "  alias EchoMQ.Script\n"]
    for name, source in scripts.items():
        if not raw:
            source = source.replace("\\", "\\\\").replace('"""', '\\"""').replace("#{", "\\#{")
        lines = "".join(f"    {line}".rstrip(" ") for line in source.splitlines(keepends=True))
        parts.append(f'\n  @{name} Script.new(:{name}, {"~S" if raw else ""}"""\n{lines}    """)\n')
    return "".join([*parts, "end\n"])


@pytest.mark.parametrize("raw", [False, True])
def test_every_bundled_script_comes_back_from_heredocs(tmp_path: Path, raw: bool) -> None:
    scripts = dict(bundled_scripts())
    assert load_scripts(elixir(tmp_path, as_module(scripts, raw))) == scripts


def test_indentation_of_the_closing_quotes_is_taken_off_each_line(tmp_path: Path) -> None:
    path = elixir(tmp_path, 'Script.new(:claim, """\n    a\n      b\n\n\t\t\t\t\tc\n  d\n    """)\n')
    assert load_scripts(path) == {"claim": "a\n  b\n\n\tc\nd\n"}


@pytest.mark.parametrize(
    ("written", "read"),
    [
        (r"a\nb", "a\nb"),
        (r"\"\\\t\s\0\e\d", '"\\\t \x00\x1b\x7f'),
        (r"\xC3\xA9 \u00e9 \u{1F355} \q", "é é 🍕 q"),
        (r"\xff", "\udcff"),
        (r"\#{x} #x", "#{x} #x"),
        ("a\\\n  b", "ab"),
        ('\\"""', '"""'),
    ],
)
def test_escapes_are_elixirs(tmp_path: Path, written: str, read: str) -> None:
    assert load_scripts(elixir(tmp_path, f'Script.new(:claim, """\n  {written}\n  """)')) == {
        "claim": f"{read}\n"
    }


def test_a_raw_sigil_takes_its_text_as_it_stands(tmp_path: Path) -> None:
    path = elixir(tmp_path, 'Script.new(:claim, ~S"""\n  return #{1, "\\n"} \\"""\n  """)')
    assert load_scripts(path) == {"claim": 'return #{1, "\\n"} """\n'}


def test_other_ways_to_write_the_call(tmp_path: Path) -> None:
    text = """
    EchoMQ.Script.new(
      # the claim
      :claim,
      "return 1"
    )
    Script.new :reap, ~s'''
    return 2
    '''
    Script.new(:"promote", "return \\"3\\"")
    """
    assert load_scripts(elixir(tmp_path, text, "other.exs")) == {
        "claim": "return 1",
        "reap": "return 2\n",
        "promote": 'return "3"',
    }


def test_comments_documentation_and_other_strings_are_passed_over(tmp_path: Path) -> None:
    text = '''
    @doc """
    Script.new(:reap, "no")
    """
    # Script.new(:reap, "no") and a " alone
    @quote ?"
    @words ~w(Script.new " {)
    @pattern ~r/"/
    def f?(x), do: "Script.new(:reap, \\"no\\") #{g("}", %{a: "Script.new"})}" <> x
    MyScript.new(:reap, "no")
    Script.new(name, source)
    @claim Script.new(:claim, """
    return 1
    """)
    '''
    assert load_scripts(elixir(tmp_path, text)) == {"claim": "return 1\n"}


@pytest.mark.parametrize(
    ("text", "line", "words"),
    [
        ('\n\nScript.new(:claim, """\n  x\n  #{@body}\n  """)', 5, "interpolation"),
        ("\nScript.new(:claim, @source)", 2, "not a heredoc or string"),
        ('\nScript.new(:claim, "a" <> @rest)', 2, "<> cannot be read"),
        ('Script.new(:claim, "a")\nScript.new(:claim, "b")', 2, "on line 1 already"),
        ('\nScript.new(:claim, """\n  a', 3, 'no """ ends'),
        ('\nScript.new(:claim, """a\n""")', 2, "on the line after"),
        ('\nScript.new(:claim, "\\xZ")', 2, "hexadecimal"),
    ],
)
def test_what_cannot_be_read_is_refused_with_its_line(
    tmp_path: Path, text: str, line: int, words: str
) -> None:
    path = elixir(tmp_path, text)
    with pytest.raises(ValueError, match=r"claim|heredoc|ends") as refused:
        load_scripts(path)
    assert str(refused.value).startswith(f"{path}:{line}: ")
    assert words in str(refused.value)


def test_a_folder_gives_the_scripts_of_all_its_sources(tmp_path: Path) -> None:
    (tmp_path / "lib").mkdir()
    elixir(tmp_path, 'Script.new(:claim, "a")')
    elixir(tmp_path, "nothing here", "lib/empty.ex")
    (tmp_path / "lib" / "reap.lua").write_text("return 2")
    (tmp_path / "notes.txt").write_text("")
    assert load_scripts(tmp_path) == {"claim": "a", "reap": "return 2"}


def test_a_name_in_two_files_is_refused(tmp_path: Path) -> None:
    first, second = elixir(tmp_path, '\nScript.new(:claim, "a")'), tmp_path / "claim.lua"
    second.write_text("return 1")
    with pytest.raises(ValueError, match="script claim is in ") as refused:
        load_all([first, second])
    assert f"{first}:2" in str(refused.value)
    assert str(second) in str(refused.value)


def test_paths_without_scripts_are_refused(tmp_path: Path) -> None:
    with pytest.raises(ValueError, match=r"no Script\.new"):
        load_scripts(tmp_path)
    with pytest.raises(ValueError, match=r"no Script\.new"):
        load_scripts(elixir(tmp_path, "defmodule A do\nend"))
    (tmp_path / "claim.txt").write_text("return 1")
    with pytest.raises(ValueError, match=r"no \.lua file"):
        load_scripts(tmp_path / "claim.txt")
    with pytest.raises(ValueError, match="no such file"):
        load_scripts(tmp_path / "none.ex")


def test_export_writes_the_bundled_scripts_and_overwrites_nothing(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    folder = tmp_path / "scripts"
    assert main(["table", "--export", str(folder)]) == 0
    assert load_scripts(folder) == dict(bundled_scripts())
    (folder / "reap.lua").write_text("mine")
    (folder / "claim.lua").unlink()
    assert main(["table", "--export", str(folder)]) == 2
    assert (folder / "reap.lua").read_text() == "mine"
    assert not (folder / "claim.lua").exists()
    assert "reap.lua" in capsys.readouterr().err


def test_export_of_one_transition_writes_its_scripts(tmp_path: Path) -> None:
    assert main(["table", "claim", "--export", str(tmp_path)]) == 0
    assert sorted(path.name for path in tmp_path.iterdir()) == ["claim.lua", "claim2.lua"]


def test_the_check_on_an_elixir_source_with_one_wrong_script(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    names = [name for name in bundled_scripts() if name not in ("claim", "bclaim")]
    source = elixir(tmp_path, as_module({name: bundled_scripts()[name] for name in names}), "jobs.ex")
    assert main(["check", "--scripts", "jobs.ex", "--examples", "20", "--json"]) == 0
    assert sorted(json.loads(capsys.readouterr().out)["scripts"]["yours"]) == sorted(names)
    source.write_text(source.read_text().replace(">= tonumber(ARGV[4])", "> tonumber(ARGV[4])"))
    assert main(["check", "--scripts", "jobs.ex", "--seed", "3"]) == 1
    out = capsys.readouterr().out
    assert "script retry (yours)" in out
    assert "tonumber(attempts) > tonumber(ARGV[4])" in out


def test_with_wire4_a_claim_alone_is_checked_as_wire4s_claim(tmp_path: Path) -> None:
    path = elixir(tmp_path, as_module({"claim": bundled_scripts()["claim"]}))
    assert check(scripts=load_scripts(path), examples=5).dialect == "wire3"
    report = check(scripts=load_scripts(path), dialect="wire4", seed=3)
    assert report.divergence is not None
    assert report.divergence.program.steps[-1].call == "claim"
