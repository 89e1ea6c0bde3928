"""The configuration as pydantic models, for services that want typed settings: made of the table that hooks read by, `config/fields.py`.

Needs pydantic. What it accepts is what `popkit config check` accepts; a differential test holds the two readings of the table together.
"""

from __future__ import annotations

from types import GenericAlias
from typing import Annotated, Any, Literal, Optional, Union

from pydantic import AfterValidator, BaseModel, ConfigDict, Field, ValidationInfo, create_model, model_validator

from hooks.utils.config import fields, validation
from hooks.utils.config.validation import json_schema

__all__ = ["Retention", "RetentionDocument", "json_schema", "models", "validated"]


class _Strict(BaseModel):
    # Strict, because the hooks' reader converts nothing: "5" is a mistake in both. What is refused may hold a password.
    model_config = ConfigDict(extra="forbid", strict=True, allow_inf_nan=False, hide_input_in_errors=True)


def _rising(model: BaseModel) -> BaseModel:
    if not validation.rises(model.model_dump(exclude_unset=True)):
        raise ValueError(fields.RISING)
    return model


def _one_tier(model: BaseModel) -> BaseModel:
    if {"tier", "default"} <= model.model_fields_set:
        raise ValueError('"tier" and "default" both name the tier of the tool')
    return model


def _what_a_project_may(model: BaseModel, info: ValidationInfo) -> BaseModel:
    if info.context == "project":
        if set(fields.USER_ONLY) & model.model_fields_set:
            raise ValueError("only your own configuration may hold " + ", ".join(fields.USER_ONLY))
        if validation.pattern_cost(model.model_dump(exclude_unset=True)) > validation.PATTERN_BUDGET:
            raise ValueError(validation.TOO_MUCH)
    return model


def _address(field: dict[str, Any]) -> Any:
    def without_credentials(value: str) -> str:
        if not validation.is_address(field, value):
            raise ValueError(f"{field['form']}, without user and password: these come from {field['credentials']}")
        return value

    return Annotated[str, Field(max_length=field["longest"]), AfterValidator(without_credentials)]


_RULES = {"rising": _rising, "one_tier": _one_tier}
# Name -> the model of each record of the table.
models: dict[str, type[BaseModel]] = {}


def _type_of(field: dict[str, Any]) -> Any:
    annotation = _MAKERS[field["kind"]](field)
    return Optional[annotation] if "null" in field else annotation


def _model(field: dict[str, Any]) -> Any:
    name = field["name"]
    if name not in models:
        members: dict[str, Any] = {}
        for key, member in field["fields"].items():
            # `$schema` is no name of Python.
            named = {"alias": key} if key.startswith("$") else {}
            members[key.lstrip("$") + "_" * bool(named)] = (_type_of(member), Field(None, description=member["about"], **named))
        rule = _RULES.get(field["rule"]) or (_what_a_project_may if field is fields.RETENTION else None)
        checks: dict[str, Any] = {"rule": model_validator(mode="after")(rule)} if rule else {}
        models[name] = create_model(name, __base__=_Strict, __doc__=field["about"], __validators__=checks, **members)
    return models[name]


_MAKERS = {
    "flag": lambda field: bool,
    "whole": lambda field: Annotated[int, Field(ge=field["low"], le=field["high"])],
    "number": lambda field: Annotated[float, Field(ge=field["low"], le=field["high"])],
    "text": lambda field: Annotated[str, Field(min_length=field["shortest"], max_length=field["longest"])],
    "address": _address,
    "word": lambda field: Literal[tuple(field["words"])],
    "null": lambda field: None,
    "either": lambda field: Union[tuple(map(_type_of, field["of"]))],
    "list": lambda field: Annotated[GenericAlias(list, _type_of(field["of"])), Field(max_length=fields.MOST_ENTRIES)],
    "map": lambda field: Annotated[
        GenericAlias(dict, tuple(map(_type_of, (field["key"], field["of"])))), Field(max_length=fields.MOST_ENTRIES)
    ],
    "record": _model,
}

Retention = _model(fields.RETENTION)
RetentionDocument = _model(fields.DOCUMENT)


def validated(document: object, layer: str = "user") -> BaseModel:
    """Return the settings of a document, which may be the retention object itself; pydantic.ValidationError. A setting that is left out is
    None.

    Of `power-mode/config.json` (layer "power-mode") only the key `retention` is read.
    """
    if layer == "power-mode" and isinstance(document, dict):
        document = {key: document[key] for key in ("retention",) if key in document}
    wrapped = not isinstance(document, dict) or "retention" in document
    if wrapped:
        return RetentionDocument.model_validate(document, context=layer).retention or Retention()
    return Retention.model_validate(document, context=layer)
