"""The estimators' pages have all parameters in one list, as `help` has them."""

import inspect
from typing import Any

import griffe

TABLES = ("estimators.classifier.GAFClassifier", "estimators.regressor.GAFRegressor")
STREAMS = ("river.GAFClassifier", "river.GAFRegressor")
TITLE = "\n\nParameters\n----------\n"


class Parameters(griffe.Extension):
    """Does what `mixable.model.parameters.estimator` does when the package is imported."""

    def on_package(self, *, pkg: griffe.Module, **_: Any) -> None:
        """Add them once all modules are loaded."""
        for path in (*TABLES, *STREAMS):
            kinds = [
                "Parameters",
                *(["TableParameters"] if path in TABLES else []),
                *(["ClassParameters"] if path.endswith("Classifier") else []),
            ]
            docstring = pkg[path].docstring
            texts = [pkg[f"model.parameters.{kind}"].docstring.value for kind in kinds]
            sections = [inspect.cleandoc(text).partition(TITLE)[2] for text in texts]
            story, found, rest = docstring.value.partition("\n\nAttributes\n---")
            docstring.value = f"{story}{TITLE}" + "\n".join(sections) + found + rest
