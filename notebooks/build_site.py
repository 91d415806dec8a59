"""Build the notebooks as a folder of HTML, with the interactive pages: `python notebooks/build_site.py [FOLDER]`.

The notebooks are shown with the outputs that are stored in them. The pages load nothing from elsewhere.
"""

import re
import sys
from pathlib import Path

import nbformat
from nbconvert import HTMLExporter

from emqsim import Queue
from emqsim.draw import map_page, stepper_page

HERE = Path(__file__).parent

FITTING = "<style>.jp-RenderedSVG img { max-width: calc(100vw - 160px); height: auto; }</style></head>"
"""Pictures are no wider than the page."""

INDEX = """<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta name="color-scheme" content="light dark">
<title>emqsim</title>
</head>
<body style="max-width: 40em; margin: 2em auto; padding: 0 1em; font: 16px/1.6 Helvetica, Arial, sans-serif">
<h1>EchoMQ's machine, seen</h1>
<ol>
{notebooks}
</ol>
<p>To play with: <a href="map.html">the lifecycle map</a>,
<a href="ghost.html">the heartbeat after the reaper, step by step</a>.</p>
</body>
</html>
"""


def build(folder: Path) -> None:
    """Write the site into a folder, which is made if it is not there."""
    folder.mkdir(parents=True, exist_ok=True)
    exporter = HTMLExporter(require_js_url="", mathjax_url="", mermaid_js_url="", jquery_url="")
    links = []
    for path in sorted(HERE.glob("*.ipynb")):
        notebook = nbformat.read(path, as_version=4)
        title = notebook.cells[0].source.splitlines()[0].removeprefix("# ")
        page, _ = exporter.from_notebook_node(notebook, {"metadata": {"name": title}})
        page = re.sub(r'href="(\d\d_\w+)\.ipynb"', r'href="\1.html"', page).replace("</head>", FITTING, 1)
        (folder / f"{path.stem}.html").write_text(page, encoding="utf-8")
        links.append(f'<li><a href="{path.stem}.html">{title}</a></li>')
    (folder / "index.html").write_text(INDEX.format(notebooks="\n".join(links)), encoding="utf-8")
    (folder / "map.html").write_text(map_page(), encoding="utf-8")
    (folder / "ghost.html").write_text(stepper_page(ghost()), encoding="utf-8")


def ghost():
    """A heartbeat after the reaper, and the ghost that it leaves."""
    queue = Queue("orders")
    job_id = queue.clock.mint()
    with queue.recording() as seen:
        queue.enqueue(job_id, "quattro stagioni")
        token = queue.claim(30_000).token
        queue.clock.advance(ms=31_000)
        queue.reap()
        queue.extend_lock(job_id, token, 30_000)
        queue.complete(job_id, token)
        queue.claim(30_000)
    return seen.program()


if __name__ == "__main__":
    build(Path(sys.argv[1] if len(sys.argv) > 1 else "site"))
