"""Tabular foundation models: pick rows by their embeddings, and first measure whether that pays."""

import importlib.util
import sys

import numpy as np
from scipy.stats import t
from sklearn.base import BaseEstimator, TransformerMixin
from sklearn.cross_decomposition import PLSRegression
from sklearn.datasets import load_diabetes
from sklearn.ensemble import ExtraTreesRegressor
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import PolynomialFeatures, StandardScaler

import nextbatch


class TabPFNEmbeddings(TransformerMixin, BaseEstimator):
    """Embeddings of TabPFN: those of rows that it was not given as context, averaged over its estimators."""

    def fit(self, X, y):
        from tabpfn import TabPFNRegressor

        self.model_ = TabPFNRegressor().fit(X, y)
        return self

    def transform(self, X):
        return np.asarray(self.model_.get_embeddings(X, data_source="test")).mean(axis=0)


def stand_in():
    """Return a transformer that every scikit-learn has. It is no foundation model; it shows how the script works."""
    steps = StandardScaler(), PolynomialFeatures(2, include_bias=False), StandardScaler(), PLSRegression(8)
    return make_pipeline(*steps)


def embedded(transformer, X, labelled, y):
    """Return the embeddings of all rows, scaled so that every number of them counts the same."""
    embeddings = np.asarray(transformer.fit(X[labelled], y[labelled]).transform(X), np.float32)
    return (embeddings - embeddings.mean(axis=0)) / np.maximum(embeddings.std(axis=0), 1e-6)


def random_rows(X, y, labelled, pool, n, seed):
    return np.random.default_rng([seed, len(labelled)]).choice(pool, n, replace=False)


def by_nextbatch(X, y, labelled, pool, n, seed):
    return pool[nextbatch.select(X[labelled], y[labelled], X[pool], n=n, seed=seed).indices]


def by_embeddings(transformer):
    def pick(X, y, labelled, pool, n, seed):
        rows = embedded(transformer, X, labelled, y)
        return pool[nextbatch.select_features(rows[labelled], rows[pool], n=n, seed=seed).indices]

    return pick


def replay(pick, X, y, seed, start=40, n=20, rounds=3):
    """Label rows that are labelled already as if they were not; return the errors of the model that you will use."""
    order = np.random.default_rng(seed).permutation(len(X))
    test, labelled, pool = order[: len(X) // 4], order[len(X) // 4 :][:start], order[len(X) // 4 + start :]
    errors = []
    for _ in range(rounds):
        rows = pick(X, y, labelled, pool, n, seed)
        labelled, pool = np.concatenate([labelled, rows]), np.setdiff1d(pool, rows)
        model = ExtraTreesRegressor(200, random_state=seed).fit(X[labelled], y[labelled])
        errors.append(np.sqrt(np.mean((model.predict(X[test]) - y[test]) ** 2)))
    return np.array(errors)


def compare(ways, X, y, splits):
    """Print by how much each way changes the error against random rows, on the same splits."""
    wide = t.ppf(0.975, splits - 1)  # with few splits, the standard error is itself uncertain
    chance = [replay(random_rows, X, y, seed) for seed in range(splits)]
    for name, pick in ways.items():
        changes = [np.log(replay(pick, X, y, seed) / errors).mean() for seed, errors in enumerate(chance)]
        mean, deviation = np.mean(changes), np.std(changes, ddof=1) / np.sqrt(splits)
        verdict = "better" if mean + wide * deviation < 0 else "worse" if mean - wide * deviation > 0 else "not told apart"
        print(f"{name:24} {100 * np.expm1(mean):+5.1f} %, standard error {100 * deviation:.1f} %: {verdict}")


def main():
    # Your rows with labels go here; these are 442 patients, with how far their diabetes had progressed a year later.
    X, y = load_diabetes(return_X_y=True, scaled=False)
    splits = int(sys.argv[1]) if len(sys.argv) > 1 else 3
    if splits < 2:
        sys.exit("one split has no standard error: replay at least two")
    ways = {"nextbatch's own learners": by_nextbatch, "stand-in": by_embeddings(stand_in())}
    if importlib.util.find_spec("tabpfn") is None:
        print("TabPFN is not installed: the stand-in alone takes its place")
    else:
        ways["TabPFN"] = by_embeddings(TabPFNEmbeddings())
    compare(ways, X, y, splits)


if __name__ == "__main__":
    main()
