"""The data shipped with the plugin: its rules, its table of models, its models of need."""

from __future__ import annotations

from ..io import codec, files, home
from ..io.system import absolute, join, parent_of
from ..policy.need_model import model_of

TYPE_CHECKING = False
if TYPE_CHECKING:
    from ..policy.models import Models
    from ..policy.need_model import NeedModel
    from ..policy.ruleset import Ruleset


def rules(profile: str | None = None) -> Ruleset:
    """Return the rules of the shipped configuration, under its own profile or another."""
    from ..config import layers
    from ..hosts.tools import recorded_tools
    from ..policy.ruleset import Ruleset

    return Ruleset.from_config(layers.load(home.plugin_root(), None, None), recorded_tools(), profile)


def models() -> Models:
    """Return the models of the shipped configuration: their prices, and how long their caches last."""
    from ..config import layers
    from ..policy.models import models_of

    return models_of(layers.load(home.plugin_root(), None, None))


def need_model() -> NeedModel:
    """Read the model of need at any later time; an error where that fails, for then the plugin is broken."""
    return _model("need-model.json")


def need_soon_model() -> NeedModel:
    """Read the model of need within the next 20 requests; errors as of `need_model`."""
    return _model("need-soon-model.json")


def _model(name: str) -> NeedModel:
    path = join(parent_of(parent_of(absolute(__file__))), "data", name)
    with files.open_regular(path) as file:
        return model_of(codec.loads(file.read().decode()))
