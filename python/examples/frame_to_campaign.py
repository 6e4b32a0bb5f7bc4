"""A frame as labs have them, with words, dates and gaps: pick rows, label them, check the model, start a campaign."""

import warnings

import numpy as np
import pandas as pd
import sklearn  # noqa: F401  Regressor needs it
from sklearn.model_selection import cross_val_score

import nextbatch

warnings.simplefilter("ignore", nextbatch.NextbatchWarning)  # which say how many gaps were imputed
rng = np.random.default_rng(0)


def measure(rows):
    """What an experiment would cost a day for; here it is a formula."""
    summer = np.cos(2 * np.pi * (rows["made"].dt.day_of_year - 190) / 365)
    return 50 + 10 * np.sin(rows["temperature"].fillna(50) / 15) + 8 * (rows["solvent"] == "water") + 4 * summer


# 400 samples: words, dates and numbers, with gaps among them. 60 random ones are measured already.
frame = pd.DataFrame({
    "temperature": rng.uniform(0, 100, 400),
    "solvent": rng.choice(["water", "ethanol", "toluene"], 400),
    "made": pd.Timestamp("2025-01-01") + pd.to_timedelta(rng.integers(0, 365, 400), unit="D"),
}, index=pd.Index([f"sample {i}" for i in range(400)], name="sample"))  # fmt: skip
truth = measure(frame)
frame.loc[rng.choice(frame.index, 12, replace=False), "temperature"] = np.nan
frame.loc[rng.choice(frame.index, 12, replace=False), "solvent"] = None
frame["yield"] = truth.where(frame.index.isin(rng.choice(frame.index, 60, replace=False)))

# Which samples to measure next?
batch = nextbatch.select(frame, "yield", n=40, random_state=0)
print(f"measure {', '.join(batch.ids[:3])}, …, because {batch.reasons[0]}")
assert frame.loc[batch.ids, "yield"].isna().all() and len(set(batch.ids)) == 40
frame.loc[batch.ids, "yield"] = truth[batch.ids]

# How good is a model of all that is measured? The frame goes in as it is.
known = frame.dropna(subset="yield")
inputs, labels = known.drop(columns="yield"), known["yield"]
model = nextbatch.Regressor(learner="gp", random_state=0)
scores = cross_val_score(model, inputs, labels, cv=3)
print(f"R² {scores.mean():.2f} on held-out rows")
assert scores.mean() > 0.6, scores

# And on the samples that nobody has measured?
rest = frame[frame["yield"].isna()]
predicted, low, high = model.fit(inputs, labels).predict(rest.drop(columns="yield"), return_interval=0.9)
error = np.sqrt(np.mean((predicted - truth[rest.index]) ** 2))
inside = np.mean((low <= truth[rest.index]) & (truth[rest.index] <= high))
print(f"the error is {error:.2f}, and {inside:.0%} of the intervals for 90 % hold the truth")
assert error < 0.6 * truth.std() and inside > 0.75

# Several people measure the others, over weeks.
campaign = nextbatch.Campaign.new("yield.db", frame, "yield", batch=8, learner="gp", audit=0)
asked = campaign.ask()
campaign.tell(asked.ids, truth[asked.ids].to_numpy())
status = campaign.status()
print(f"{status.labelled} of {status.rows} samples are measured; {status.advice}")
assert status.labelled == 108 and status.rows == 400
