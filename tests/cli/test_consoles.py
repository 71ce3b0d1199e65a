"""What the commands write is plain text, whatever is in it."""

import io

import pytest
from rich.console import Console

from mixable.cli.consoles import Messages, for_tables, new_table, printable, tracked


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("plain ünïcode", "plain ünïcode"),
        ("a\nb", r"a\nb"),
        ("\x1b[31mred", r"\x1b[31mred"),
        ("\udc80", r"\udc80"),
        ("\u202e", r"\u202e"),
    ],
)
def test_what_could_steer_a_terminal_is_escaped(text, shown):
    assert printable(text) == shown


def test_a_table_has_text_on_the_left_and_no_markup(capsys):
    table = new_table("[b]title[/b]", ["name", "loss"], left=("name",), caption=":smile:")
    assert [column.justify for column in table.columns] == ["left", "right"]
    table.add_row("[red]x[/red]", "0.5")
    for_tables().print(table)
    out = capsys.readouterr().out
    assert all(text in out for text in ("[red]x[/red]", "[b]title[/b]", ":smile:"))


def test_tables_are_not_folded_where_there_is_no_terminal(capsys):
    for_tables().print("x" * 130)
    assert capsys.readouterr().out == "x" * 130 + "\n"


def test_messages_are_lines_that_begin_alike():
    messages = Messages()
    messages.console = Console(file=io.StringIO(), soft_wrap=True, markup=False, highlight=False)
    messages.say("[b]50%[/b]")
    messages.fail("no\nway")
    assert messages.console.file.getvalue() == "mixable: [b]50%[/b]\nmixable: no\\nway\n"


def test_tracking_changes_nothing_and_is_silent_without_a_terminal(capsys):
    assert list(tracked(range(3), "things")) == [0, 1, 2]
    assert capsys.readouterr() == ("", "")
