"""Columns made of categories, in plain Python: what core/inputs/categories.hpp is compared with."""

import math
from collections import defaultdict

BUDGET, MOST_VALUES, PRIOR = 128, 24, 2.0


class CategoriesReference:
    def __init__(self, n_classes):
        self.K = n_classes
        self.occurrences = defaultdict(int)
        self.values = defaultdict(set)  # of each column
        self.indicators = {}
        self.outcomes = defaultdict(list)  # of each value: pairs of outcome and weight
        self.all = []

    def make(self, keys):
        """The indicators that were given, and the frequencies of the classes."""
        known = [key for key in keys if self.occurrences.get(key)]
        shown = [float(key in known) for key in self.indicators]
        return shown, [self._sum(known, c) for c in range(self.K)]

    def _sum(self, known, c):
        total = sum(w for _, w in self.all)
        f = (sum(w for y, w in self.all if y == c) + 1) / (total + self.K)
        out = 0.0
        for key in known:
            n = sum(w for _, w in self.outcomes[key])
            own = sum(w for y, w in self.outcomes[key] if y == c)
            out += math.log((own + PRIOR * f) / ((n + PRIOR) * f))
        return out

    def learn(self, keys, y, weight=1.0):
        if weight == 0:
            return
        for column, key in enumerate(keys):
            if not key:
                continue
            self.values[column].add(key)
            self.occurrences[key] += 1
            is_few = len(self.values[column]) <= MOST_VALUES
            if self.occurrences[key] == 2 and is_few and len(self.indicators) < BUDGET:
                self.indicators[key] = len(self.indicators)
            self.outcomes[key].append((y, weight))
        self.all.append((y, weight))
