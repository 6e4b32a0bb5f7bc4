"""python -m unittest, in this folder. Seconds on a CPU; on a GPU its kernels are compared with the plain path."""
import tempfile
import unittest
from pathlib import Path

import numpy as np
import torch

import evaluate
import model
import optimizer
import prior
import tables as development
import train
import weights

torch.set_num_threads(1)
SMALL = train.recipe_of(
    "tokens=1500 tables=6 tests=16 sizes=6 most=32 width=32 blocks=2 bins=32 warm=5".split()
)


def waken(network):
    """Gives matrices that begin as zeros values, so that every part counts."""
    torch.manual_seed(3)
    with torch.no_grad():
        for p in network.parameters():
            if not p.any():
                p.normal_(std=0.05)
    return network


def answer(network, t, labelled, seed=5):
    cells, labels, names, *_ = model.views(t, labelled, seed)
    return network(cells, labels, labelled, names)


class Prior(unittest.TestCase):
    def test_tables_of_all_sizes_are_finite_and_repeatable(self):
        for labelled, d in [(8, 1), (20, 3), (40, 9), (9, 64)]:
            for seed in range(6):
                t = prior.draw(6, labelled, 24, d, "cpu", seed)
                self.assertEqual(t.x.shape, (6, labelled + 24, d))
                self.assertTrue(torch.isfinite(t.x).all() and torch.isfinite(t.y).all())
                self.assertTrue((t.y[:, :labelled].std(1) > 0).all())
                self.assertTrue((t.x[t.missing] == 0).all())
            again = prior.draw(6, labelled, 24, d, "cpu", seed)
            self.assertTrue(torch.equal(t.x, again.x) and torch.equal(t.y, again.y))

    def test_most_tables_can_be_learnt(self):
        t = prior.draw(64, 96, 64, 4, "cpu", 1)
        t = prior.Tables(t.x, t.nominal, t.missing, t.y)
        seen = prior.standard(torch.where(t.nominal[:, None], torch.zeros_like(t.x), t.x))
        self.assertGreater((prior.teachable(seen, t.y) > 0.1).float().mean(), 0.5)


class Network(unittest.TestCase):
    def setUp(self):
        self.network = waken(SMALL.network())
        self.t = prior.draw(3, 12, 8, 5, "cpu", 4)

    def test_the_order_of_rows_does_not_matter(self):
        order = torch.cat([torch.randperm(12), 12 + torch.randperm(8)])
        t = prior.Tables(self.t.x[:, order], self.t.nominal, self.t.missing[:, order], self.t.y[:, order])
        a, b = answer(self.network, self.t, 12), answer(self.network, t, 12)
        self.assertTrue(torch.allclose(a[:, order[12:] - 12], b, atol=1e-4))

    def test_an_unlabelled_row_does_not_change_another(self):
        a, b = answer(self.network, self.t, 12), answer(self.network, self.rows(slice(0, 15)), 12)
        self.assertTrue(torch.allclose(a[:, :3], b, atol=1e-4))

    def rows(self, i):
        return prior.Tables(self.t.x[:, i], self.t.nominal, self.t.missing[:, i], self.t.y[:, i])

    def test_labels_of_unlabelled_rows_are_not_seen(self):
        a = answer(self.network, self.t, 12)
        self.t.y[:, 12:] = 7
        self.assertTrue(torch.equal(a, answer(self.network, self.t, 12)))

    def test_units_do_not_matter(self):
        a = answer(self.network, self.t, 12)
        number = ~self.t.nominal[:, None]
        t = prior.Tables(torch.where(number, self.t.x * 8, self.t.x), self.t.nominal, self.t.missing, self.t.y * 3 - 5)
        self.assertTrue(torch.allclose(a, answer(self.network, t, 12), atol=2e-3))

    def test_levels_are_names(self):
        self.t.nominal[:] = True
        x = torch.randint(0, 4, self.t.x.shape).float()
        mixed = torch.tensor([2.0, 0.0, 3.0, 1.0])[x.long()]
        signs = [model.level_signs(v.transpose(1, 2), torch.full((3, 5), 9)) for v in (x, mixed)]
        same = [(s[:, :, :, None] == s[:, :, None]).all(-1) for s in signs]
        self.assertTrue(torch.equal(*same))
        many = model.signs_of(torch.arange(4000) + (9 << 17), model.SIGNS)
        self.assertLess((many.T @ many / 4000 - torch.eye(model.SIGNS)).abs().max(), 0.08)
        self.assertLess(many.mean(0).abs().max(), 0.08)

    def test_orders_of_columns_differ(self):
        a, b = (answer(self.network, self.t, 12, number) for number in (0, 1))
        self.assertFalse(torch.allclose(a, b))
        self.assertTrue(torch.equal(a, answer(self.network, self.t, 12, 0)))

    def test_the_distribution_is_one(self):
        edges, logits = self.network.edges, torch.randn(1000, len(self.network.edges) - 1)
        mean, sd = model.moments(logits, edges)
        low, mid, high = (model.quantile(logits, edges, q) for q in (0.05, 0.5, 0.95))
        self.assertTrue((low < mid).all() and (mid < high).all() and (sd > 0).all())
        inside = 0.5 * (edges[1:] + edges[:-1])
        density = (-model.negative_log_density(logits[:, None].expand(-1, len(inside), -1), inside.expand(1000, -1), edges)).exp()
        self.assertTrue(torch.allclose((density * (edges[1:] - edges[:-1])).sum(1), torch.ones(1000), atol=1e-4))


class Training(unittest.TestCase):
    def test_steps_of_muon_are_orthogonal(self):
        for shape in [(3, 16, 16), (2, 8, 40), (2, 40, 8)]:
            s = torch.linalg.svdvals(optimizer.orthogonal(torch.randn(shape)).float())
            self.assertTrue(((s > 0.5) & (s < 1.4)).all(), s)

    def test_the_loss_falls_and_a_training_goes_on(self):
        with tempfile.TemporaryDirectory() as folder:
            _, first, _ = train.train(SMALL, 1e9, Path(folder), steps=8, device="cpu", say=quiet)
            before = {k: v.clone() for k, v in train.state_of(train.Recipe.network(SMALL), first).items()}
            network, second, _ = train.train(SMALL, 1e9, Path(folder), folder, steps=0, device="cpu", say=quiet)
            for name, value in second.state.items():
                self.assertTrue(torch.allclose(value, before[name], rtol=1e-2, atol=1e-6), name)
            about = weights.load(Path(folder) / "weights.safetensors")[1]
            self.assertEqual(about["steps"], 8)
            (Path(folder) / "checkpoint.safetensors").unlink()
            train.train(SMALL, 1e9, Path(folder), folder, steps=2, device="cpu", say=quiet)
            later = weights.load(Path(folder) / "weights.safetensors")[1]
            self.assertEqual((later["steps"], later["tables"] > about["tables"]), (10, True))

    def test_it_learns(self):
        torch.manual_seed(0)
        network = SMALL.network()
        step = optimizer.Optimizer(network, optimizer.Recorder("cpu"))
        total = torch.zeros(())
        x = torch.randn(16, 40, 2)
        t = prior.Tables(x, torch.zeros(16, 2, dtype=torch.bool), torch.zeros(16, 40, 2, dtype=torch.bool), x[..., 0] * 2)
        values = [t.x, t.nominal, t.missing, t.y, *model.chances(2, "cpu")]
        play, losses = train.Step(network, step, optimizer.Recorder("cpu"), total, 24, values), []
        for _ in range(60):
            total.zero_()
            play(values)
            step.step(5e-3, 0.9)
            losses.append(total.item())
        self.assertLess(np.mean(losses[-5:]), losses[0] - 0.3)

    def test_weights_are_read_as_written(self):
        with tempfile.TemporaryDirectory() as folder:
            path = Path(folder) / "w.safetensors"
            weights.save(path, {"a": torch.tensor([[1.0, -2.5]]), "b": torch.ones(3)}, {"steps": 3})
            tensors, about = weights.load(path)
            self.assertEqual(about, {"steps": 3})
            self.assertEqual(tensors["a"].tolist(), [[1.0, -2.5]])


class Evaluation(unittest.TestCase):
    def test_figures_of_a_table(self):
        r = np.random.default_rng(0)
        x = r.normal(size=(80, 3)).astype(np.float32)
        found = {"t": ("uci", x, np.array([False, False, True]), x[:, 0] * 3)}
        predictions = evaluate.predict(waken(SMALL.network()).eval(), found, 2, {16: 2, 24: 1})
        self.assertEqual(set(predictions), {("t", 16, 0), ("t", 16, 1), ("t", 24, 0)})
        exact = {(n, s, d): np.stack([found[n][3][rows]] * 3) for n, s, d, _, rows in development.splits(found)}
        e = evaluate.errors(found, predictions, exact)["uci", 16]["t"]
        self.assertTrue(e[0] < -10 and e[-1] > -2 and e[10] < e[-1])


@unittest.skipUnless(torch.cuda.is_available(), "needs a GPU")
class Gpu(unittest.TestCase):
    def test_answers_and_gradients_are_those_of_the_cpu(self):
        network = waken(train.Recipe().network())
        t = prior.draw(4, 60, 30, 9, "cpu", 8)
        values = [t.x, t.nominal, t.missing, t.y, *model.chances(9, "cpu")]
        found = []
        for device in ("cpu", "cuda"):
            network = network.to(device)
            if device == "cuda":
                model.compile_pieces()
            recorder, total = optimizer.Recorder(device), torch.zeros((), device=device)
            step = optimizer.Optimizer(network, recorder)
            play = train.Step(network, step, recorder, total, 60, [v.to(device) for v in values])
            play([v.to(device) for v in values])
            found.append((total.item(), [g.cpu().clone() for g in step.grads]))
        (loss, grads), (there, again) = found
        self.assertLess(abs(loss - there), 0.02)
        for (name, _), a, b in zip(network.named_parameters(), grads, again):
            self.assertLess((a - b).norm() / (a.norm() + 1e-6), 0.5, name)


def quiet(*_, **__):
    pass


if __name__ == "__main__":
    unittest.main()
