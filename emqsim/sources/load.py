"""Scripts where they live: `.lua` files, Elixir sources, and folders of them."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path

from emqsim.sources.elixir import scripts_in

LUA, ELIXIR = (".lua",), (".ex", ".exs")


def load_scripts(path: str | Path) -> dict[str, str]:
    """Lua sources by script name, from a `.lua` file named after its script, an Elixir source (`.ex`, `.exs`) with
    calls of `Script.new(:name, …)`, or a folder of such files, those in its folders too.

    Raises `ValueError` for a path without scripts, a name that stands in two files and an Elixir source that
    cannot be read as it stands, and `OSError`.
    """
    return load_all([path])


def load_all(paths: Iterable[str | Path]) -> dict[str, str]:
    """As `load_scripts`, from many paths; a name that two of them have is a `ValueError` too."""
    scripts: dict[str, str] = {}
    homes: dict[str, str] = {}
    for path in paths:
        found = 0
        for file in _files(Path(path)):
            for name, (source, line) in _scripts_of(file).items():
                home = f"{file}:{line}" if file.suffix in ELIXIR else str(file)
                if name in scripts:
                    raise ValueError(f"script {name} is in {homes[name]} and in {home}")
                scripts[name], homes[name] = source, home
                found += 1
        if not found:
            raise ValueError(f"{path}: no .lua file, and no Script.new(:name, …) in an Elixir source")
    return scripts


def _files(where: Path) -> list[Path]:
    if not where.exists():
        raise ValueError(f"{where}: no such file or folder")
    if where.is_dir():
        return sorted(file for file in where.rglob("*") if file.suffix in LUA + ELIXIR and file.is_file())
    if where.suffix not in LUA + ELIXIR:
        raise ValueError(f"{where}: no .lua file, Elixir source ({', '.join(ELIXIR)}) or folder")
    return [where]


def _scripts_of(file: Path) -> dict[str, tuple[str, int]]:
    """The scripts of a file, each with the line on which it begins."""
    text = file.read_bytes().decode("utf-8", "surrogateescape")
    if file.suffix in LUA:
        return {file.stem: (text, 1)}
    return {name: (source, line) for name, (source, line) in scripts_in(text, str(file)).items()}
