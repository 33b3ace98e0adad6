"""What the service is asked, as the OpenAPI description shows it: bodies, checked and limited."""

from __future__ import annotations

import re
from typing import Annotated, Any, Self

from pydantic import (
    BaseModel,
    BeforeValidator,
    Field,
    StrictFloat,
    StrictInt,
    StrictStr,
    field_validator,
    model_validator,
)
from pydantic_core import PydanticCustomError

from treewass.compute.arguments import did_you_mean
from treewass.serve.service_settings import MOST_CHARACTERS, MOST_HIGHLIGHTS, MOST_NEIGHBORS, MOST_TEXTS

_WRITTEN_NAME = re.compile(r"id:\d+|key:\S+")

_LONGEST_NAME = 50  # characters of an unknown name in a message
_FARTHEST = 10_000  # result to page to
_MOST_FILTERS, _MOST_COLUMNS = 50, 100
Number = Annotated[StrictInt, Field(ge=-(2**63), lt=2**63)]
Label = Annotated[StrictStr, Field(max_length=1000)] | Number
Text = Annotated[StrictStr, Field(max_length=MOST_CHARACTERS)]
Value = StrictStr | Number | StrictFloat | None
_Values = Annotated[list[Value], Field(max_length=1000, fail_fast=True)]


def _not_one_text(value: Any) -> Any:
    if isinstance(value, str):
        raise PydanticCustomError("one_text", 'Expected a list of texts, such as ["a text"], got one text')
    return value


Texts = Annotated[
    list[Text], Field(min_length=1, max_length=MOST_TEXTS, fail_fast=True), BeforeValidator(_not_one_text)
]


def _at_most(count: int) -> BeforeValidator:
    """Refuse a mapping of too many names before each is looked at, which could take minutes."""

    def check(values: Any) -> Any:
        if isinstance(values, dict) and len(values) > count:
            raise PydanticCustomError("too_long", "Expected at most {count} names", {"count": count})
        return values

    return BeforeValidator(check)


_Wanted = Value | _Values | Annotated[list[_Values], Field(max_length=20, fail_fast=True)]
_Filter = Annotated[dict[str, _Wanted], Field(max_length=_MOST_FILTERS), _at_most(_MOST_FILTERS)]


def _kept_exactly(value: Any) -> Any:
    """Refuse a whole number of more than 64 bits, which would be taken for a float and lose digits."""
    if isinstance(value, int) and not -(2**63) <= value < 2**63:
        raise PydanticCustomError("too_large", "Expected a whole number of 64 bits, or a text")
    return value


class _Request(BaseModel):
    model_config = {"extra": "forbid", "strict": True}

    @model_validator(mode="before")
    @classmethod
    def _refuse_unknown_names(cls, values: Any) -> Any:
        """Refuse the first name that is none of the fields; an error for each could be hundreds of thousands."""
        names = values if isinstance(values, dict) else ()
        unknown = next((name for name in names if name not in cls.model_fields), None)
        if unknown is not None:
            shown = unknown[:_LONGEST_NAME].encode("utf-8", "replace").decode()
            found = {
                "known": ", ".join(cls.model_fields),
                "shown": f"{shown}{did_you_mean(shown, cls.model_fields)}",
            }
            raise PydanticCustomError("unknown_name", "Expected {known}, got {shown}", found)
        return values


class _Found(_Request):
    """What both ways to find documents take."""

    k: Annotated[int, Field(ge=1, le=MOST_NEIGHBORS, description="Documents to find for each text.")] = 10
    offset: Annotated[int, Field(ge=0, le=_FARTHEST, description="Documents to pass over: for further results.")] = 0
    where: Annotated[
        _Filter | None,
        Field(
            description="Only documents with these values of `label`, `id` and kept columns; of a list of values one "
            "is enough. A list of an operator (==, !=, <, <=, >, >=) and a value compares, and of several such lists "
            'all must hold: {"label": ["sports", "news"], "year": [[">", 2020], ["<", 2024]]}.',
        ),
    ] = None
    highlight: Annotated[
        bool,
        Field(description=f"Mark the words that count, in the first {MOST_HIGHLIGHTS} documents; with one text only."),
    ] = False


class SearchRequest(_Found):
    """Typed words to find documents by. A longer text is compared as a whole, as /api/similar does."""

    texts: Texts


class SimilarRequest(_Found):
    """Texts, or one document that the service holds, to find the nearest documents of."""

    texts: Texts | None = None
    id: Annotated[Number | None, Field(description="The id of a document, instead of texts.")] = None
    key: Annotated[str | None, Field(max_length=1000, description="The key of a document, instead of texts.")] = None

    @model_validator(mode="after")
    def _one_of_them(self) -> Self:
        if [self.texts, self.id, self.key].count(None) != 2:
            raise PydanticCustomError("one_of", "Expected either texts, or the id or the key of a document")
        return self


class PredictRequest(_Request):
    """Texts to classify."""

    texts: Texts
    explain: Annotated[bool, Field(description="Say which words and documents decided; with one text only.")] = False


class DocumentKey(_Request):
    """A document that the service holds, by its key."""

    key: Annotated[str, Field(max_length=1000)]


_Compared = Annotated[
    Text | Number | DocumentKey,
    Field(description='A text, the id of a document as a number, or its key: {"key": "cat-1"}.'),
]


class ExplainRequest(_Request):
    """Two documents: texts, or ids or keys of documents that the service holds."""

    first: _Compared
    second: _Compared

    @field_validator("first", "second")
    @classmethod
    def _no_written_name(cls, value: str | int | DocumentKey) -> str | int | DocumentKey:
        if isinstance(value, str) and _WRITTEN_NAME.fullmatch(value):
            raise PydanticCustomError(
                "written_name",
                "Expected an id as a number, such as 17, or an object with a key, got a text such as id:17.",
            )
        return value


class NewDocumentView(_Request):
    """A document to add."""

    text: Text
    label: Annotated[
        Label | None, Field(description="One of the labels that the model has learned; without one, it never votes.")
    ] = None
    title: Annotated[str, Field(max_length=1000)] = ""
    key: Annotated[
        str | None, Field(min_length=1, max_length=1000, description="Your own name of it, which no other has.")
    ] = None
    columns: Annotated[
        dict[Annotated[str, Field(max_length=200)], Annotated[Value, BeforeValidator(_kept_exactly)]],
        Field(
            max_length=_MOST_COLUMNS, description="What else to keep of it, to filter by: columns that the model has."
        ),
        _at_most(_MOST_COLUMNS),
    ] = {}


class NewDocuments(_Request):
    """Documents to add, all of them or none."""

    documents: Annotated[list[NewDocumentView], Field(min_length=1, max_length=MOST_TEXTS, fail_fast=True)]


class NewLabel(_Request):
    """Another label for a document."""

    label: Annotated[Label, Field(description="One of the labels that the model has learned.")]
