"""A model that scores its forecasts, many at a time."""

from __future__ import annotations

import numpy as np

from mixable.metrics import Scores
from mixable.serving.progress import Progress
from mixable.streaming.kept import KeptModel

UNSCORED = 512  # forecasts that are scored in one step


class ScoredModel(KeptModel):
    """Scores and progress. The last forecasts are added when one of the two is asked for.

    The bits do not depend on when that is.
    """

    def start_counting(self) -> None:
        """Set counts, scores and progress to nothing."""
        self._unscored: list[tuple[list[float], int, float]] = []
        self.__dict__["progress"] = Progress()
        super().start_counting()

    @property
    def scores(self) -> Scores:
        """Scores of the forecasts whose label has come."""
        return self._scored()[0]

    @scores.setter
    def scores(self, scores: Scores) -> None:
        self.__dict__["scores"] = scores

    @property
    def progress(self) -> Progress:
        """Their losses over time, and calibration by class."""
        return self._scored()[1]

    @property
    def rates(self) -> list[int]:
        """How often each class has come so far."""
        progress: Progress = self.__dict__["progress"]  # which knows them at once
        return progress.rates

    def score(self, p: list[float], code: int, rates: list[int] | None = None) -> None:
        """Count an example that was learned, and its forecast.

        `rates` says how often each class had come when that was made; None: as often as by now.
        """
        last = self._unscored
        if last and (len(last) >= UNSCORED or len(last[0][0]) != len(p)):
            self._scored()
        last.append((p, code, self.__dict__["progress"].expect(len(p), code, rates)))
        self.counts["learned"] += 1

    def _scored(self) -> tuple[Scores, Progress]:
        scores, progress = self.__dict__["scores"], self.__dict__["progress"]
        if self._unscored:
            P, codes, baselines = zip(*self._unscored, strict=True)
            self._unscored.clear()
            scores.update_many(np.array(P, dtype=np.float64), np.array(codes))
            progress.add_many(list(P), list(codes), list(baselines))
        return scores, progress
