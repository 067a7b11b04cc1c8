"""What a handler returned, as JSON that the database can keep."""

from typing import Any

from pydantic_core import PydanticSerializationError, to_jsonable_python

from windlass.errors import InvalidInput
from windlass.model import MAX_RESULT_BYTES, check_json

__all__ = ["encode_result"]


def encode_result(value: Any, limit_bytes: int = MAX_RESULT_BYTES) -> str | None:
    """`value` as JSON text; None stays None.  Models and dates are written as pydantic does."""
    if value is None:
        return None
    try:
        return check_json(value, limit_bytes, "result")
    except InvalidInput as error:
        if "size" in error.details:
            raise
        try:
            plain = to_jsonable_python(value, by_alias=True)
        except (PydanticSerializationError, ValueError, RecursionError):
            raise error from None
    return check_json(plain, limit_bytes, "result")
