"""Scripts where they live: `.lua` files and folders of them."""

from __future__ import annotations

from pathlib import Path


def load_scripts(path: str | Path) -> dict[str, str]:
    """Lua sources by script name, from a `.lua` file named after its script, or a folder of such files.

    Raises `ValueError` for a path without scripts, and `OSError`.
    """
    where = Path(path)
    files = sorted(where.glob("*.lua")) if where.is_dir() else [where]
    if not where.exists():
        raise ValueError(f"{path}: no such file or folder")
    if not files or any(file.suffix != ".lua" for file in files):
        raise ValueError(f"{path}: no .lua file")
    return {file.stem: file.read_bytes().decode("utf-8", "surrogateescape") for file in files}
