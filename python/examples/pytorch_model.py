"""A PyTorch model of your own: its gradients say which rows it should see next."""

import torch
from torch import nn

import nextbatch

torch.manual_seed(0)
pool = torch.rand(3000, 6) * 4 - 2
truth = torch.sin(pool[:, 0] * pool[:, 1]) + 0.5 * pool[:, 2] ** 2
labelled = torch.randperm(3000)[:64]

for round in range(4):
    model = nn.Sequential(nn.Linear(6, 64), nn.SiLU(), nn.Linear(64, 64), nn.SiLU(), nn.Linear(64, 1))
    optimizer = torch.optim.Adam(model.parameters(), lr=3e-3)
    for _ in range(150):
        optimizer.zero_grad()
        loss = nn.functional.mse_loss(model(pool[labelled])[:, 0], truth[labelled])
        loss.backward()
        optimizer.step()
    with torch.no_grad():
        error = (model(pool)[:, 0] - truth).square().mean().sqrt()
    print(f"{len(labelled)} labels: RMSE {error:.3f}")

    unlabelled = torch.ones(3000, dtype=torch.bool)
    unlabelled[labelled] = False
    candidates = torch.nonzero(unlabelled)[:, 0]
    features = nextbatch.torch.features(model, pool, kernel="gradient", sketch=256)
    batch = nextbatch.select_features(features[labelled], features[candidates], n=32)
    labelled = torch.cat([labelled, candidates[torch.as_tensor(batch.indices)]])
