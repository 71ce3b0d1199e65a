"""mixable beside the tools people use: the same streams in the same order through all of them.

    pip install ".[bench]"
    python -m benchmarks.peers run       # race, or go on with a race that was stopped
    python -m benchmarks.peers show      # the tables as text, where mixable loses first
    python -m benchmarks.peers docs peers/peers.json   # write the documents from these results

There are three tables. *Numbers* has the linear peers, *curves* the others, *records* those that
take words and text. Every contestant forecasts each example before it learns it. Peers run at their
defaults and at the settings of a grid; the best of these is chosen for them in hindsight on each
stream by the very log loss that is reported. mixable runs at its defaults only.

| file | its job |
|---|---|
| `streams.py` | the streams |
| `contest.py` | what a contestant is; its score |
| `adaptors.py` | one contestant from each tool: tables of numbers |
| `encoding.py` | records as those need them who take no words |
| `mine.py` | mixable |
| `numbers.py`, `curves.py`, `records.py` | the contestants of each table |
| `run.py` | one run: time and memory |
| `race.py` | all runs, and the file that keeps them |
| `results.py` | what is kept of a race: `benchmarks/results/peers.json` |
| `text.py`, `figures.py`, `quotes.py`, `documents.py` | tables, figures and numbers of documents |
"""
