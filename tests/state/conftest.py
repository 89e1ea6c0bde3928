"""What the tests of state share with those of the hooks."""

from tests.hooks.conftest import home  # noqa: F401  a fixture
from tests.hooks.remembering import blocking_hooks  # noqa: F401  a fixture
