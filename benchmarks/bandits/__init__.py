"""Decisions, against Vowpal Wabbit, LinUCB and LinTS; and the coverage of evaluations.

    python -m benchmarks.bandits play [--folder FOLDER]    # every run that is not there yet
    python -m benchmarks.bandits table                     # what has been played
    python -m benchmarks.bandits coverage                  # of intervals, in 500 repetitions

**Streams** are turned into bandits: an action is a label, its reward 1 if it is right. Those that
judge are the held-out classification streams of `benchmarks.leaderboard` with 2,000 rows or more
(of long ones, the first 20,000), from packages by name. Those that choose are files NAME.csv or
NAME.csv.gz of FOLDER, the label in the last column; only they were looked at for exploration.
Each is shuffled five times.

**Kinds**: `noise` (30% of the labels are drawn), `cost` (rewards in [0, 1]), `drift` (all actions
change places at half time), `arriving` (one action more every tenth of the time). Two worlds are
generated: `hundred` (100 actions) and `percent` (rewards of about 1%, 50,000 rounds).

**Vowpal Wabbit** runs through its ADF interface, with 69 settings. One is chosen by the first two
shuffles of the same stream: all play the first quarter of the rounds, the best sixth of them all
rounds. Everybody is scored on the other three shuffles. All others run as they are.

Results are appended to a file of JSON lines, so that a run can be ended and goes on; `--until
15:30` starts none after that time. One process at a time writes.
"""
