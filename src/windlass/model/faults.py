"""What pydantic found wrong with a value, in the words that the rest of Windlass uses."""

from collections.abc import Iterable, Mapping
from typing import Any

__all__ = ["fault_in_words", "faults_in_words"]

_NUMBER = "must be a number"
_LIST = "must be a list"
_OBJECT = "must be an object"
_SAME: Mapping[str, str] = {
    "missing": "is missing",
    "missing_argument": "is missing",
    "extra_forbidden": "is not known",
    "unexpected_keyword_argument": "is not known",
    "int_from_float": "must be a whole number",
    "finite_number": "must be a finite number",
    "none_required": "must be null",
    "model_attributes_type": _OBJECT,
    "dataclass_exact_type": _OBJECT,
}
# Several faults of one type (wrong kind of value, text that cannot be read as one) are one to its reader.
_BY_TYPE: Mapping[str, str] = {
    "int": "must be a whole number",
    "float": _NUMBER,
    "decimal": _NUMBER,
    "bool": "must be true or false",
    "string": "must be text",
    "uuid": "must be a UUID, 32 hexadecimal digits",
    "datetime": "must be a time such as 2030-01-31T09:00:00Z",
    "date": "must be a date such as 2030-01-31",
    "time": "must be a time of day such as 09:00:00",
    "list": _LIST,
    "tuple": _LIST,
    "set": _LIST,
    "dict": _OBJECT,
    "model": _OBJECT,
    "dataclass": _OBJECT,
}
_WITH_BOUND: Mapping[str, str] = {
    "json_invalid": "cannot be read: {error}",
    "literal_error": "must be {expected}",
    "enum": "must be {expected}",
    "greater_than": "must be greater than {gt}",
    "greater_than_equal": "must be {ge} or more",
    "less_than": "must be less than {lt}",
    "less_than_equal": "must be {le} or less",
    "string_too_short": "must have {min_length} characters or more",
    "string_too_long": "must have {max_length} characters or less",
    "too_short": "must have {min_length} or more items",
    "too_long": "must have {max_length} or fewer items",
}
_KIND_OF_VALUE = ("_type", "_parsing", "_parsing_size", "_from_date_parsing", "_from_datetime_parsing")


def fault_in_words(fault: Mapping[str, Any]) -> str:
    """One entry of `ValidationError.errors()` as the end of a sentence; it never quotes the value."""
    name = str(fault["type"])
    if name in _SAME:
        return _SAME[name]
    if name in _WITH_BOUND:
        return _WITH_BOUND[name].format(**{key: _plain(value) for key, value in fault["ctx"].items()})
    for ending in _KIND_OF_VALUE:
        if name.endswith(ending) and (told := _BY_TYPE.get(name.removesuffix(ending))):
            return told
    message = str(fault["msg"]).removeprefix("Value error, ").removeprefix("Input ")
    return message[:1].lower() + message[1:]


def faults_in_words(faults: Iterable[Mapping[str, Any]]) -> list[str]:
    """Each of them with the place that it is about."""
    return [f"{'.'.join(map(str, fault['loc'])) or 'it'} {fault_in_words(fault)}" for fault in faults]


def _plain(value: Any) -> Any:
    return f"{value:.15g}" if isinstance(value, float) else value
