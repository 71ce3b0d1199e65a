"""What the paper shows and asks, measured: tables in Markdown for the site.

    python benchmarks/paper.py race | table1 | hard | kernels

`race`: the paper's figure, that is GAF, ONS and OGD at their best setting of the paper's grid; runs
that are finished are kept in build/paper-race and not done again. `table1`: exponents of time and
regret. `hard`: regret where proper forecasters must pay. `kernels`: what approximations of a kernel
lose. `mixable race`, `table1`, `hard-regime` and `kernels` draw pictures of the same.
"""

import os

for variable in ("OPENBLAS_NUM_THREADS", "OMP_NUM_THREADS", "MKL_NUM_THREADS"):
    os.environ[variable] = "1"

import sys
from pathlib import Path

import numpy as np

from mixable.paper.experiments import growth, hard_regime, kernels, sources
from mixable.paper.experiments import race as races

ORDERS = {"vehicle": 20, "segment": 10}  # shuttle would take a quarter of an hour
EARLY = 200  # examples


def table(head, rows):
    """Print a table in Markdown."""
    print("|", " | ".join(head), "|")
    print("|---" * len(head) + "|")
    for row in rows:
        print("|", " | ".join(row), "|", flush=True)


def early_loss(standing):
    """The median over orders of the mean loss of the first examples."""
    curves = (np.transpose(result["curve"]) for result in standing.results)
    return np.median([np.interp(EARLY, *curve) for curve in curves])


def race():
    """Log loss at the end, early, and at which settings."""
    store, names = races.Store(Path("build/paper-race")), ("gaf", "ons", "ogd")
    found = {}
    for data, orders in ORDERS.items():
        layout = sources.survey(data, None)
        tasks = [
            races.Task(
                data=data,
                layout=layout,
                forecaster=name,
                scale="libsvm",
                setting=setting,
                seed=seed,
            )
            for seed in range(orders)
            for name in names
            for setting in races.settings(name, "paper", (1.0,))
        ]
        waiting = [task for task in tasks if store.get(task.key) is None]
        for task, result in races.local(waiting, jobs=1):
            store.put(task.key, result)
        results = [store.get(task.key) for task in tasks]
        found |= {(data, each.forecaster): each for each in races.standings(results, {})}
    cells = {
        "at the end": lambda each: f"{each.median:.4f}",
        f"after {EARLY}": lambda each: f"{early_loss(each):.3f}",
        "setting": lambda each: ", ".join(f"{k} {v:g}" for k, v in each.setting.items()),
    }
    for title, cell in cells.items():
        table(
            (title, "orders", "GAF", "ONS", "OGD"),
            [[data, str(ORDERS[data]), *(cell(found[data, x]) for x in names)] for data in ORDERS],
        )
        print()


def table1():
    """Exponents."""
    print("| algorithm | time in d | time in K | regret in n | regret in B |")
    print("|---|---|---|---|---|")
    for name in growth.ALGORITHMS:
        each = growth.measure(name)
        numbers = each.time_in_d, each.time_in_k, each.regret_in_n, each.regret_in_b
        print(f"| {name} |", " | ".join(f"{number:.1f}" for number in numbers), "|", flush=True)


def hard(seeds=3, n=100_000):
    """Regret of the construction of Hazan, Koren and Levy: fixed eps, then eps tuned to n."""
    regrets = {
        (each.forecaster, eps): each.regret
        for eps in hard_regime.EPS
        for each in hard_regime.regrets(n, eps, seeds)
    }
    table(
        (f"regret at n = {n:,}", *(f"eps = {eps:g}" for eps in hard_regime.EPS)),
        [
            [name, *(f"{regrets[name, eps]:.0f}" for eps in hard_regime.EPS)]
            for name in hard_regime.FORECASTERS
        ],
    )
    print()
    lengths = (1000, 3000, 10_000, 30_000)
    results = [each for n in lengths for each in hard_regime.tuned_regrets(n, seeds)]
    rows = []
    for name in hard_regime.FORECASTERS:
        own = [each.regret for each in results if each.forecaster == name]
        slope = round(hard_regime.slope(results, name), 2) + 0.0  # not -0.00
        grows = f"{slope:.2f}" if min(own) > 0 else "none"
        rows.append([name, *(f"{regret:.0f}" for regret in own), grows])
    table(("regret, worst eps for n", *(f"n = {n:,}" for n in lengths), "exponent"), rows)


def kernel_losses(sizes=(50, 100, 200, 400), n=1000, seeds=3):
    """Regret to the exact forecaster, the difference of log p, and the effective dimension."""
    found, references = {}, []
    for name in kernels.STREAMS:
        for each in kernels.measure(name, list(sizes), n, seeds):
            if isinstance(each, kernels.Reference):
                references.append(each)
            else:
                found[each.n_components, (name, each.method)] = each
    columns = [(name, method) for name in kernels.STREAMS for method in kernels.METHODS]
    for title, cell in (
        ("features", lambda each: f"{each.regret:.1f}"),
        ("features", lambda each: f"{each.difference:.2g}"),
    ):
        head = (title, *(f"{name}, {method}" for name, method in columns))
        table(head, [[f"{m}", *(cell(found[m, column]) for column in columns)] for m in sizes])
        print()
    table(
        ("stream", "rows", "effective dimension", "loss, exact kernel", "loss, linear"),
        [
            [
                each.stream,
                f"{len(each.dimension):,}",
                f"{each.dimension[-1]:.0f}",
                f"{each.exact:.3f}",
                f"{each.linear:.3f}",
            ]
            for each in references
        ],
    )


if __name__ == "__main__":
    parts = {"race": race, "table1": table1, "hard": hard, "kernels": kernel_losses}
    parts[sys.argv[1]]()
