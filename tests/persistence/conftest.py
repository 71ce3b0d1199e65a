"""A saved model."""

import pytest
from make_fixtures import classifier

import mixable as mx


@pytest.fixture
def saved(tmp_path):
    path = tmp_path / "model.safetensors"
    mx.save(classifier(kernel=mx.kernels.Auto(2)), path)
    return path
