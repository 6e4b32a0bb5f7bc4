"""Tests what the commands of tools.md have left: python3 tools_test.py

It runs in the folder of the page, after its commands; MLFLOW_TRACKING_URI is that of the page unless the environment has it.
"""

import csv
import json
import os
import subprocess
import sys
import unittest

os.environ.setdefault("MLFLOW_TRACKING_URI", "sqlite:///runs.db")

import mlflow  # noqa: E402


def curve():
    """Returns the steps and values of every metric of the run that the page logs."""
    client = mlflow.MlflowClient()
    (run,) = client.search_runs([mlflow.get_experiment_by_name("nextbatch").experiment_id])
    return {name: [(point.step, point.value) for point in client.get_metric_history(run.info.run_id, name)] for name in run.data.metrics}


class Tools(unittest.TestCase):
    def test_the_curve(self):
        metrics = curve()
        self.assertGreaterEqual(len(metrics["rmse_range"]), 3)
        labels, errors = zip(*sorted(metrics["rmse_range"]))
        self.assertLess(errors[-1], errors[0])
        self.assertEqual(labels[-1], metrics["labelled"][-1][1])
        for name in ("rmse_range_low", "rmse_range_high", "mae_range", "q95_range"):
            self.assertIn(name, metrics)

    def test_logging_again_repeats_no_point(self):
        before = curve()["rmse_range"]
        subprocess.run([sys.executable, "mlflow_curve.py", "throws.db", "throws"], check=True, stdout=subprocess.DEVNULL)
        self.assertEqual(curve()["rmse_range"], before)

    def test_tasks_show_the_inputs_alone(self):
        with open("tasks.json") as file, open("batch.csv", newline="") as batch:
            tasks, rows = json.load(file), list(csv.DictReader(batch))
        self.assertEqual([task["data"]["row"] for task in tasks], [row["throw"] for row in rows])
        names = [line.split(": ")[0] for line in tasks[0]["data"]["inputs"].split("\n")]
        self.assertEqual(names, ["speed", "angle", "drag"])

    def test_labels_of_an_export(self):
        with open("labels.csv") as file:
            self.assertEqual(file.read(), "throw,range\nt004,31.75\nt011,56.0\nt011,56.25\n")


if __name__ == "__main__":
    unittest.main()
