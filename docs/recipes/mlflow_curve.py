"""Logs the error of a campaign as a run of MLflow: python3 mlflow_curve.py STORE RUN

The step of a metric is the number of labels. Run it after each round: it continues the run of that name in the experiment "nextbatch".
MLFLOW_TRACKING_URI says where runs are kept.
"""

import json
import subprocess
import sys

import mlflow

store, name = sys.argv[1:]
status = json.loads(subprocess.run(["nextbatch", "campaign", "status", store, "--json"], check=True, stdout=subprocess.PIPE).stdout)
client = mlflow.MlflowClient()
experiment = mlflow.set_experiment("nextbatch").experiment_id
earlier = client.search_runs([experiment], f"attributes.run_name = '{name}'")
run = earlier[0] if earlier else client.create_run(experiment, run_name=name)


def log(metric, interval, labels):
    """Logs an estimate and the limits of its interval, unless the run has this step."""
    for suffix, key in (("", "value"), ("_low", "low"), ("_high", "high")):
        known = {point.step for point in client.get_metric_history(run.info.run_id, metric + suffix)}
        if interval[key] is not None and labels not in known:
            client.log_metric(run.info.run_id, metric + suffix, interval[key], step=labels)


for target in status["targets"]:
    curve = target["curve"]
    if curve is None:  # too few audit rows so far
        continue
    for point in curve["points"]:
        log(f"rmse_{target['target']}", point["rmse"], point["labels"])
    for metric in ("rmse", "mae", "q95"):
        log(f"{metric}_{target['target']}", curve[metric], curve["labels"])
for count in ("open", "labelled", "failed"):
    client.log_metric(run.info.run_id, count, status[count], step=status["labelled"])
client.set_tag(run.info.run_id, "advice", f"{status['advice']['verdict']}: {status['advice']['because']}")
client.set_terminated(run.info.run_id)
points = {point.step for target in status["targets"] for point in client.get_metric_history(run.info.run_id, f"rmse_{target['target']}")}
print(f"run {name}: {status['labelled']} labels, a curve of {len(points)} points")
