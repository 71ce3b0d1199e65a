"""The options that declare columns: the same of streams and of services."""

from __future__ import annotations

from typing import Annotated, TypeAlias

import typer

Names: TypeAlias = str | None

NumberColumns = Annotated[Names, typer.Option(help="Columns of numbers, by commas.")]
CategoryColumns = Annotated[Names, typer.Option(help="Columns of categories, by commas.")]
TextColumns = Annotated[Names, typer.Option(help="Columns of text, by commas.")]
TagsColumns = Annotated[Names, typer.Option(help="Columns of lists of tags, by commas.")]
TimeColumns = Annotated[Names, typer.Option(help="Columns of times, by commas.")]
IgnoredColumns = Annotated[Names, typer.Option(help="Columns to leave out, by commas.")]
DecimalCommas = Annotated[Names, typer.Option(help="Numbers such as 1.234,50, by commas.")]
DaysFirst = Annotated[Names, typer.Option(help="Times such as 31/12/2024, by commas.")]
MonthsFirst = Annotated[Names, typer.Option(help="Times such as 12/31/2024, by commas.")]
Crosses = Annotated[Names, typer.Option(help="Pairs of columns that count together: a*b,c*d.")]
