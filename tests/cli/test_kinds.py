"""Streams and services declare columns by the same options."""

import inspect
from dataclasses import fields

from mixable.cli.serve import run_serve
from mixable.cli.stream import run_stream
from mixable.records import Columns


def test_both_commands_have_an_option_for_everything_that_can_be_declared():
    wanted = {field.name for field in fields(Columns)}
    for command in (run_stream, run_serve):
        parameters = inspect.signature(command).parameters
        assert wanted <= parameters.keys()
        assert all(parameters[name].default is None for name in wanted)
