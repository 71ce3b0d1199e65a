"""merge: associative, commutative, with one it is that one; what it refuses, and why."""

import copy

import numpy as np
import pytest
from shards import MODELS, PARTS, TWO, X, Y, distance, outcomes, shards, taught

import mixable as mx
from mixable import merge
from mixable._natural import SAME


@pytest.mark.parametrize("name", MODELS)
def test_groups_and_order_do_not_matter(name):
    a, b, c = shards(name)
    flat = merge([a, b, c])
    assert distance(merge([merge([a, b]), c]), merge([a, merge([b, c])])) < 1e-9
    assert distance(flat, merge([c, a, b])) < 1e-9
    assert distance(flat, merge([merge([a, b]), c])) < 1e-9
    assert distance(flat, a) > 1e-4


@pytest.mark.parametrize("name", MODELS)
def test_groups_do_not_matter_after_a_common_beginning(name):
    base = taught(MODELS[name](), name, PARTS[0])
    a, b, c = shards(name, base, (PARTS[1], PARTS[2], slice(100, 300)))
    flat = merge([a, b, c], base=base)
    assert distance(flat, merge([a, merge([c, b], base=base)], base=base)) < 1e-9
    assert distance(flat, merge([a, b, c])) > 1e-6  # the base would count three times


@pytest.mark.parametrize("name", MODELS)
def test_one_model_stays_as_it_is(name):
    a = shards(name)[0]
    assert distance(merge([a]), a) == 0
    assert merge([a]) is not a
    assert distance(merge([a, MODELS[name](), MODELS[name]()]), a) == 0
    # Without the short cut. AutoRidge wakes its those that are inactive, whose weight is not zero.
    assert distance(a._fresh()._combine([a], None, [SAME]), a) < (
        1e-3 if "idge" in name or "reg" in name else 1e-9
    )


@pytest.mark.parametrize("name", MODELS)
def test_a_merged_model_goes_on_and_is_saved(name, tmp_path):
    merged = merge(shards(name))
    mx.save(merged, tmp_path / "model")
    again = mx.load(tmp_path / "model")
    for model in (merged, again, copy.deepcopy(merged)):
        taught(model, name, slice(0, 90))
    assert distance(merged, again) == 0


EXACT = [name for name in MODELS if name not in ("OGD", "AutoGAF", "AutoRidge", "Pool")]
EXACT = [name for name in EXACT if "0.001" not in name and hasattr(MODELS[name](), "learn")]


@pytest.mark.parametrize("name", EXACT)
def test_deltas_added_to_the_base_are_the_merged_model(name):
    base = taught(MODELS[name](), name, PARTS[0])
    models = shards(name, base, PARTS[1:])
    deltas = [model.delta(base) for model in models]
    assert [each.steps for each in deltas] == [model.steps - base.steps for model in models]
    assert distance(merge([base, *deltas]), merge(models, base=base)) < 1e-9


@pytest.mark.parametrize("name", ["AutoGAF", "AutoRidge", "Pool", "linear", "regressor"])
def test_deltas_of_mixtures_come_near(name):
    base = taught(MODELS[name](), name, PARTS[0])
    models = shards(name, base, PARTS[1:])
    added = merge([base, *(model.delta(base) for model in models)])
    spread = np.ptp(outcomes(name)) if name in ("AutoRidge", "regressor") else 1.0
    assert distance(added, merge(models, base=base)) < 0.05 * spread


def test_merging_helps():
    """The merged model is better than its parts, on rows that none has seen."""
    model = merge([mx.GAFClassifier(kernel=None).fit(X[part], Y[part]) for part in PARTS])
    own = [mx.GAFClassifier(kernel=None).fit(X[part], Y[part]) for part in PARTS]
    fresh, labels = X + 0.01, Y
    losses = [mx.metrics.log_loss(each.predict_proba(fresh), labels) for each in (model, *own)]
    assert losses[0] < min(losses[1:])


def test_a_mixture_trusts_by_the_losses_of_all():
    mixtures = []
    for part in PARTS:
        mixtures.append(mx.Mixture([mx.GAF(4, 3), mx.OGD(4, 3)]))
        mixtures[-1].run(X[part], Y[part])
    logs = sum(np.log(each.weights) for each in mixtures)
    wanted = np.exp(logs - logs.max())
    np.testing.assert_allclose(merge(mixtures).weights, wanted / wanted.sum(), rtol=1e-9)


def test_scores_add():
    whole, parts = mx.metrics.Scores(), [mx.metrics.Scores() for _ in PARTS]
    p = np.random.default_rng(0).dirichlet(np.ones(3), 600)
    whole.update_many(p, Y)
    for scores, part in zip(parts, PARTS, strict=True):
        scores.update_many(p[part], Y[part])
    merged = merge(parts)
    assert merged.n == 600
    assert merged.log_loss == pytest.approx(whole.log_loss, rel=1e-12)
    np.testing.assert_allclose(merged.reliability(), whole.reliability())
    assert merged.classwise_error == pytest.approx(whole.classwise_error, rel=1e-9)
    more = copy.deepcopy(parts[0])
    more.update_many(p[PARTS[1]], Y[PARTS[1]])
    assert more.delta(parts[0]).n == 200


@pytest.mark.parametrize(
    ("models", "error", "text"),
    [
        (lambda: [], ValueError, "models is empty"),
        (lambda: [mx.GAF(2, 3), mx.OGD(2, 3)], TypeError, r"models\[0\] is a GAF and models\[1\]"),
        (lambda: [mx.GAF(2, 3), mx.GAF(2, 3, lam=2.0)], ValueError, "lam is 2.0 and 0.1"),
        (lambda: [mx.GAF(2, 3), mx.GAF(3, 3)], ValueError, "n_features is 3 and 2"),
        (lambda: [mx.Pool([mx.GAF(2, 3)]), mx.Pool([mx.OGD(2, 3)])], ValueError, "expert 0"),
        (
            lambda: [mx.Pool([mx.GAF(2, 3)]), mx.Pool([mx.GAF(2, 3), mx.GAF(2, 3)])],
            ValueError,
            "number of experts is 2 and 1",
        ),
        (lambda: [object(), object()], TypeError, "no model of this library"),
    ],
)
def test_what_does_not_go_together_is_refused(models, error, text):
    with pytest.raises(error, match=text):
        merge(models())


@pytest.mark.parametrize("kind", [mx.FTRL, mx.SMP, mx.Foster])
def test_forecasters_that_keep_examples_are_refused_with_the_reason(kind):
    models = [kind(4, 2) for _ in range(2)]
    for model in models:
        model.learn(X[0], 1)
    with pytest.raises(TypeError, match=f"{kind.__name__} cannot be merged: "):
        merge(models)


def test_models_that_did_not_begin_as_base_are_refused():
    a, b, _ = shards("GAF full 0.0")
    with pytest.raises(ValueError, match=r"models\[0\] did not begin as base: it has learned less"):
        merge([a], base=b)
    base = mx.GAFClassifier(kernel=None).partial_fit(X[:9], ["x"] * 4 + ["y"] * 5)
    labels = ["y", *np.where(TWO[1:50], "x", "y")]
    other = mx.GAFClassifier(kernel=None).partial_fit(X[:50], labels)
    assert other.learner_.labels == ["y", "x"]
    with pytest.raises(ValueError, match="other labels than base"):
        merge([other], base=base)


def test_past_weights_of_mixtures_are_refused():
    mixtures = [mx.Mixture([mx.GAF(4, 3)], history=True) for _ in range(2)]
    for mixture in mixtures:
        mixture.learn(X[0], 1)
    with pytest.raises(ValueError, match="past weights have no order"):
        merge(mixtures)


def test_mixtures_of_experts_that_cannot_be_merged_are_refused():
    class Own:
        n_features, n_classes, steps = 4, 3, 0

        def predict(self, x):
            return np.full((*np.shape(x)[:-1], 3), 1 / 3)

        def learn(self, x, y, weight=1.0):
            self.steps += 1

    for expert, reason in ((mx.FTRL(4, 3), "keeps all its examples"), (Own(), "no model of this")):
        mixture = mx.Mixture([mx.GAF(4, 3), expert])
        mixture.learn(X[0], 1)
        with pytest.raises(TypeError, match=reason):
            merge([mixture, copy.deepcopy(mixture)])


def test_combine_is_merge():
    a, b, c = shards("GAF full 0.0")
    assert distance(a.combine([b, c]), merge([a, b, c])) == 0
    with pytest.raises(ValueError, match="did not begin as base"):
        a.combine([b], base=c)
