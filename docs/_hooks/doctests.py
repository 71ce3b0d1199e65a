"""Doctests that stand in a docstring outside its section of examples are shown as code."""

import re
from typing import Any

import griffe

DOCTEST = re.compile(r"^>>> .*?(?=\n\s*\n|\Z)", re.MULTILINE | re.DOTALL)


class Doctests(griffe.Extension):
    """Puts a fence around them."""

    def on_object(self, *, obj: griffe.Object, **_: Any) -> None:
        """Change the docstring of one object."""
        if obj.docstring is not None:
            text, examples, rest = obj.docstring.value.partition("\nExamples\n---")
            obj.docstring.value = DOCTEST.sub(r"```python\n\g<0>\n```", text) + examples + rest
