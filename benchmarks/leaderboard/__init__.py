"""The leaderboard: online learners on streams that chose nobody's defaults.

    pip install ".[bench]"                       # and capymoa, if there is a Java runtime
    python -m benchmarks.leaderboard --quick     # ten minutes
    python -m benchmarks.leaderboard             # a day at most; again: goes on where it stopped
    python -m benchmarks.leaderboard --only mixable --again   # after a change of mixable
    python -m benchmarks.leaderboard collect     # the tables of the results that are there
    python -m benchmarks.leaderboard docs --again             # and write the documents from them
    python -m benchmarks.leaderboard docs --add               # only rows that were not there
    python -m benchmarks.leaderboard --rows 10000 --results long   # for the learning curves
    python -m benchmarks.leaderboard curves --rows 10000 --results long

| file | its job |
|---|---|
| `streams.py` | the streams: a row each |
| `peers.py` | who plays: a row each |
| `encode.py` | records for those who take no words |
| `run.py` | one peer on one stream: a JSON file in the folder of results |
| `results.py` | `benchmarks/results/leaderboard.json` from these files; comparisons |
| `curves.py` | learning curves on the long streams |
| `page.py` | tables, numbers and the picture of the documents |
"""
