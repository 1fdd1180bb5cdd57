"""The plugins that come with frontmcp. Each can be switched off, replaced or extended; see docs/plugins.md."""
