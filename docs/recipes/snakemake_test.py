"""Tests that a killed workflow continues where it was: python3 snakemake_test.py

snakemake and nextbatch must be on the path.
"""

import os
import pathlib
import shutil
import signal
import subprocess
import sys
import tempfile
import time
import unittest

HERE = pathlib.Path(__file__).parent


class Workflow(unittest.TestCase):
    def test_killed(self):
        with tempfile.TemporaryDirectory() as name:
            folder = pathlib.Path(name)
            for file in ("Snakefile", "candidates.py", "row.py", "simulate.py", "tell.py"):
                shutil.copy(HERE / file, folder)
            with open(folder / "candidates.csv", "w") as table:
                subprocess.run([sys.executable, "candidates.py"], cwd=folder, check=True, stdout=table)
            campaign = ["nextbatch", "campaign"]
            subprocess.run([*campaign, "new", "throws.db", "candidates.csv", "--target", "range", "--id", "throw",
                            "--learner", "trees", "-q"], cwd=folder, check=True)
            snakemake = ["snakemake", "--cores", "1", "--config", "rounds=2", "--quiet", "all"]
            workflow = subprocess.Popen(snakemake, cwd=folder, start_new_session=True)
            while len(list(folder.glob("rounds/2/*.label"))) < 2:  # in the middle of the second round
                self.assertIsNone(workflow.poll())
                time.sleep(0.05)
            os.killpg(workflow.pid, signal.SIGKILL)
            workflow.wait()
            subprocess.run(["snakemake", "--unlock", "--quiet", "all"], cwd=folder, check=True)
            subprocess.run([*snakemake, "--rerun-incomplete"], cwd=folder, check=True)
            history = subprocess.run([*campaign, "history", "throws.db"], cwd=folder, check=True, text=True, stdout=subprocess.PIPE).stdout
            self.assertEqual(history.count("ask "), 2, history)
            status = subprocess.run([*campaign, "status", "throws.db"], cwd=folder, check=True, text=True, stdout=subprocess.PIPE).stdout
            self.assertIn("300: 284 open, 0 asked", status)


if __name__ == "__main__":
    unittest.main()
