"""Your own model: which rows it should learn from next, by its leaves, its predictions or its features."""

import lightgbm
import numpy as np
import torch
from sklearn.datasets import load_diabetes
from sklearn.ensemble import RandomForestRegressor

import nextbatch


def leaf_features(leaves, size=512, seed=0):
    """Return features whose inner product is about the share of trees in which two rows are in the same leaf.

    Column t of `leaves` has the number of the leaf that each row is in, in tree t. Every leaf gets a random vector.
    """
    total = np.zeros((len(leaves), size), np.float32)
    for tree, column in enumerate(leaves.T):
        vectors = np.random.default_rng([seed, tree]).standard_normal((column.max() + 1, size), np.float32)
        total += vectors[column]
    return total / np.sqrt(size * leaves.shape[1])


def predictions(members, rows):
    """Return what each member of a committee predicts, in a column of its own."""
    return np.column_stack([member.predict(rows) for member in members])


def bootstrap(make, X, y, members=10):
    """Return a committee: each member is fitted to rows drawn with replacement. It can be of anything that has fit."""
    draws = [np.random.default_rng(k).integers(0, len(X), len(X)) for k in range(members)]
    return [make(k).fit(X[rows], y[rows]) for k, rows in enumerate(draws)]


def boosting(seed):
    return lightgbm.LGBMRegressor(n_estimators=200, learning_rate=0.05, min_child_samples=5, random_state=seed, n_jobs=1, verbosity=-1)


def trained_network(X, y, seed=0, epochs=300):
    """Return a PyTorch module that was trained on rows with mean 0 and standard deviation 1."""
    torch.manual_seed(seed)
    model = torch.nn.Sequential(torch.nn.Linear(X.shape[1], 128), torch.nn.SiLU(), torch.nn.Linear(128, 128), torch.nn.SiLU(), torch.nn.Linear(128, 1))
    inputs, labels = torch.tensor(X, dtype=torch.float32), torch.tensor(y, dtype=torch.float32)
    optimizer = torch.optim.AdamW(model.parameters(), lr=3e-3, weight_decay=0.01)
    for _ in range(epochs):
        optimizer.zero_grad()
        torch.nn.functional.mse_loss(model(inputs)[:, 0], labels).backward()
        optimizer.step()
    return model.eval()


def main():
    # Diabetes: 442 patients, ten measurements each, and how far the disease had progressed a year later.
    X, y = load_diabetes(return_X_y=True, scaled=False)
    order = np.random.default_rng(0).permutation(len(X))
    labelled, pool = order[:80], order[80:]
    X_seen, y_seen = X[labelled], y[labelled]

    def show(name, batch):
        print(f"{name:34} {', '.join(map(str, pool[batch.indices[:6]]))} …")

    # By leaves: two rows are alike if the trees cannot tell them apart.
    forest = RandomForestRegressor(200, random_state=0).fit(X_seen, y_seen)
    features = leaf_features(forest.apply(X))
    show("forest, by leaves", nextbatch.select_features(features[labelled], features[pool], n=16))

    boosted = boosting(0).fit(X_seen, y_seen)
    features = leaf_features(boosted.predict(X, pred_leaf=True))
    show("LightGBM, by leaves", nextbatch.select_features(features[labelled], features[pool], n=16))

    # By predictions: rows are picked where the members of a committee differ, and differ in different ways.
    for name, members in (("forest, by the trees' predictions", forest.estimators_), ("LightGBM, committee of ten", bootstrap(boosting, X_seen, y_seen))):
        columns = predictions(members, X)
        show(name, nextbatch.select_features(columns[labelled], columns[pool], n=16, method="lcmd-tp:predictions"))

    # By features: the gradients of a network, or its last layer (kernel="ll"). Networks want scaled inputs.
    scaled = (X - X_seen.mean(axis=0)) / X_seen.std(axis=0)
    network = trained_network(scaled[labelled], (y_seen - y_seen.mean()) / y_seen.std())
    features = nextbatch.torch.features(network, scaled, kernel="gradient", sketch=256)
    show("PyTorch, by gradients", nextbatch.select_features(features[labelled], features[pool], n=16))


if __name__ == "__main__":
    main()
