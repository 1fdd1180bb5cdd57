"""``python -m frontmcp`` is the command line."""

from __future__ import annotations

from frontmcp.cli import main

if __name__ == "__main__":
    main()
