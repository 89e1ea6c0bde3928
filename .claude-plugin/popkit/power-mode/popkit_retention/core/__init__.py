"""The library of the hooks by the name that commands and services know it by; a copy would be as large as the library."""

import os

__path__ = [os.path.join(os.path.dirname(os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))), "hooks", "utils")]
