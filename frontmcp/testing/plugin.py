"""The pytest plugin by the name that goes with ``-p``, where plugins are not loaded by themselves."""

from pytest_frontmcp import *  # noqa: F403
