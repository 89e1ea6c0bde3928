"""The version of this PopKit: `popkit --version`, the helper and the package name it. `scripts/release` raises it."""

VERSION = "0.1.0"
