"""The notebooks show what they are run to show: stored outputs and those of a fresh kernel are the same."""

import re
from pathlib import Path

import nbformat
import pytest
from nbclient import NotebookClient

FOLDER = Path(__file__).parent.parent / "notebooks"
PATHS = sorted(FOLDER.glob("*.ipynb"))

FILTERS = {
    r"\bValkey \d+(\.\d+)+": "Valkey …",
    r"\bin \d+(\.\d+)? ?s\b": "in … s",
}
"""What may differ from run to run: the version of the server, and how long something took."""


def filtered(text):
    for pattern, instead in FILTERS.items():
        text = re.sub(pattern, instead, text)
    return text


def outputs(notebook):
    """For each code cell its source, its number and its outputs: a stream in one piece, data by type."""
    found = []
    for cell in notebook.cells:
        if cell.cell_type == "code":
            shown = {}
            for output in cell.outputs:
                if output.output_type == "stream":
                    shown[output.name] = filtered(shown.get(output.name, "") + output.text)
                else:
                    data = output.get("data", {"error": output.get("evalue")})
                    shown |= {kind: filtered(text) for kind, text in data.items()}
            found.append((cell.source, cell.execution_count, shown))
    return found


def run(path, folder):
    """The outputs of a notebook in a fresh kernel."""
    notebook = nbformat.read(path, as_version=4)
    for cell in notebook.cells:
        if cell.cell_type == "code":
            cell.outputs, cell.execution_count = [], None
    NotebookClient(
        notebook,
        kernel_name="python3",
        timeout=120,
        allow_errors=True,
        resources={"metadata": {"path": str(folder)}},
    ).execute()
    return outputs(notebook)


def test_the_course_is_complete():
    assert [path.stem for path in PATHS] == [
        "01_the_four_sets",
        "02_claim_and_the_lease",
        "03_completion_and_recovery",
        "04_scripts_and_native_twins",
        "05_test_your_worker",
        "06_check_your_scripts",
        "07_every_state",
    ]


@pytest.mark.parametrize("path", PATHS, ids=lambda path: path.stem)
def test_a_fresh_kernel_gives_the_stored_outputs(path, tmp_path, monkeypatch):
    monkeypatch.setenv("IPYTHONDIR", str(tmp_path / "ipython"))
    for stored, now in zip(outputs(nbformat.read(path, as_version=4)), run(path, tmp_path), strict=True):
        assert stored == now


@pytest.mark.parametrize("path", PATHS, ids=lambda path: path.stem)
def test_the_stored_outputs_are_of_one_clean_run(path):
    cells = [cell for cell in nbformat.read(path, as_version=4).cells if cell.cell_type == "code"]
    assert [cell.execution_count for cell in cells] == [*range(1, len(cells) + 1)]
    for cell in cells:
        for output in cell.outputs:
            assert output.output_type in ("stream", "execute_result")
            assert output.get("name", "stdout") == "stdout"
    shown = str([shown for _, _, shown in outputs(nbformat.read(path, as_version=4))])
    assert not re.search(r"\b0x[0-9a-f]{6,}|Warning\b|Traceback", shown)


@pytest.mark.parametrize("path", PATHS, ids=lambda path: path.stem)
def test_pictures_have_a_text_beside_them(path):
    for _, _, shown in outputs(nbformat.read(path, as_version=4)):
        if "image/svg+xml" in shown:
            assert len(shown["text/plain"].splitlines()) > 1
        assert {*shown} <= {"stdout", "text/plain", "image/svg+xml"}


@pytest.mark.parametrize("path", PATHS, ids=lambda path: path.stem)
def test_questions_are_folded_and_links_lead_somewhere(path):
    text = "\n".join(
        cell.source for cell in nbformat.read(path, as_version=4).cells if cell.cell_type == "markdown"
    )
    assert text.count("<details><summary>") == text.count("</details>") >= 2
    assert "## Try it" in text
    for link in re.findall(r"\]\((?!https?:)([^)#]+)", text):
        assert (FOLDER / link).exists()


def test_the_site_holds_every_notebook_and_page(tmp_path, monkeypatch):
    monkeypatch.syspath_prepend(str(FOLDER))
    from build_site import build

    build(tmp_path)
    assert {path.name for path in tmp_path.iterdir()} == {
        *(f"{path.stem}.html" for path in PATHS),
        "index.html",
        "map.html",
        "ghost.html",
    }
    for page in tmp_path.iterdir():
        for link in re.findall(r'href="([\w.]+\.(?:html|ipynb))"', page.read_text("utf-8")):
            assert (tmp_path / link).exists(), (page.name, link)
