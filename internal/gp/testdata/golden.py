"""Writes golden.json: likelihoods, gradients and posteriors by scikit-learn.

Run it here: python golden.py. The committed file is from scikit-learn 1.9.1 and NumPy 2.4.6.
The labels are used as they are: neither side standardises them.
"""

import json

import numpy as np
import sklearn
from sklearn.gaussian_process import GaussianProcessRegressor
from sklearn.gaussian_process.kernels import RBF, ConstantKernel, DotProduct, Matern, WhiteKernel


def case(smooth, n, d, signal, noise, linear, lengths, weighted):
    draw = np.random.default_rng(n * 10 + d)
    rows, test = draw.normal(size=(n, d)), draw.normal(size=(5, d))
    labels = np.sin(rows[:, 0]) + 0.3 * rows[:, -1] + 0.1 * draw.normal(size=n)
    weights = draw.uniform(0.5, 2, size=n) if weighted else np.ones(n)
    weights /= weights.mean()
    shape = RBF(lengths) if smooth else Matern(lengths, nu=2.5)
    slopes = ConstantKernel(signal * linear) * DotProduct(0.0, sigma_0_bounds="fixed")
    kernel = (ConstantKernel(signal) * shape + slopes) + ConstantKernel(signal)
    alpha = signal * noise / weights
    if not weighted:
        kernel, alpha = kernel + WhiteKernel(signal * noise), 1e-300
    process = GaussianProcessRegressor(kernel, alpha=alpha, optimizer=None).fit(rows, labels)
    likelihood, gradient = process.log_marginal_likelihood(process.kernel_.theta, eval_gradient=True)
    mean, deviation = process.predict(test, return_std=True)
    white = 0 if weighted else signal * noise
    # The order of the hyperparameters: signal, lengths, slopes, constant and, if it is fitted, noise.
    own = dict(zip(["signal", "lengths", "linear", "constant", "noise"], np.split(gradient, np.cumsum([1, d, 1, 1]))))
    return {
        "smooth": smooth, "inputs": d, "signal": signal, "noise": noise, "linear": linear, "lengths": list(lengths),
        "rows": rows.ravel().tolist(), "labels": labels.tolist(), "weights": weights.tolist(), "test": test.ravel().tolist(),
        "likelihood": likelihood, "mean": mean.tolist(), "variance": (deviation**2 - white).tolist(),
        "gradient": own,
    }


cases = [
    case(False, 30, 3, 1.7, 0.05, 0.2, [0.8, 2.0, 5.0], False),
    case(True, 30, 3, 1.7, 0.05, 0.2, [0.8, 2.0, 5.0], False),
    case(False, 150, 7, 0.4, 0.001, 0.03, [0.5, 1, 2, 3, 4, 5, 60], False),
    case(False, 40, 2, 2.5, 0.3, 0.01, [1.5, 0.7], True),
]
if __name__ == "__main__":
    with open("golden.json", "w") as file:
        made = {"sklearn": sklearn.__version__, "numpy": np.__version__, "cases": cases}
        json.dump(made, file, default=lambda a: a.tolist())
        file.write("\n")
