"""Tests of slurm.py against a real Slurm, which the environment has: python3 slurm_test.py

.ci/slurm starts one. nextbatch must be on the path.
"""

import collections
import json
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

# Counts how often a row is simulated, and takes its time.
PROGRAM = """
import json, os, sys, time
row = json.load(sys.stdin)
with open("simulated", "a") as file:
    file.write(f"{row['id']}\\n")
time.sleep(row.get("seconds", 1))
if row.get("bad") and not os.path.exists("mended"):
    sys.exit("it does not converge")
print(row.get("label", 1.5))
"""


class Slurm(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = pathlib.Path(folder.name)
        self.environment = {**os.environ, "SLURM_ORACLE_POLL": "0.5"}
        (self.folder / "program.py").write_text(PROGRAM)
        self.program = [sys.executable, "program.py"]

    def start(self, row, **environment):
        """Starts the script on a row, in a process group of its own, as campaign run does."""
        command = [sys.executable, str(HERE / "slurm.py"), *self.program]
        script = subprocess.Popen(command, cwd=self.folder, env=self.environment | environment, text=True, start_new_session=True,
                                  stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE)
        script.stdin.write(json.dumps(row))
        script.stdin.close()
        script.stdin = None
        return script

    def label(self, row, **environment):
        """The label of a row, or the reason that it has none."""
        out, err = self.start(row, **environment).communicate(timeout=120)
        return out.strip() or err.strip().split("\n")[-1]

    def jobs(self):
        """The jobs that Slurm has for the arrays of this test."""
        return self.queue("%F")

    def states(self):
        """The states of their tasks."""
        return self.queue("%T")

    def queue(self, what):
        found = set()
        for path in self.folder.glob("jobs/*/array.json"):
            command = ["squeue", "--noheader", "--array", "--states=all", "--name=" + json.loads(path.read_text())["name"], f"--format={what}"]
            found |= set(subprocess.run(command, check=True, text=True, stdout=subprocess.PIPE).stdout.split())
        return found

    def simulated(self):
        return collections.Counter((self.folder / "simulated").read_text().split())

    def killer(self, script):
        """Puts a command sbatch before the real one. $group is the process group of slurm.py."""
        folder = self.folder / "bin"
        folder.mkdir()
        command = folder / "sbatch"
        command.write_text(f"#!/bin/sh\ngroup=$(ps -o pgid= -p $$ | tr -d ' ')\nreal={shutil.which('sbatch')}\n{script}\n")
        command.chmod(0o755)
        return {"PATH": f"{folder}:{os.environ['PATH']}"}

    def test_rows_share_an_array_and_fail_alone(self):
        rows = [{"id": f"r{i}", "label": i, "bad": i == 2} for i in range(4)]
        scripts = [self.start(row, SLURM_ORACLE_POLL="2") for row in rows]
        answers = [script.communicate(timeout=120) for script in scripts]
        self.assertEqual([out.strip() for out, _ in answers], ["0", "1", "", "3"])
        self.assertRegex(answers[2][1], r"^job \d+_\d: it does not converge\n$")
        self.assertEqual(len(self.jobs()), 1)

    def test_two_scripts_of_one_row(self):  # of a campaign that was killed, and of its successor
        scripts = [self.start({"id": "a"}, SLURM_ORACLE_POLL="2") for _ in range(2)]
        self.assertEqual([script.communicate(timeout=120)[0].strip() for script in scripts], ["1.5", "1.5"])
        self.assertEqual(self.simulated(), {"a": 1})

    def test_a_failed_row_gets_a_new_task(self):
        row = {"id": "a", "bad": True}
        self.assertRegex(self.label(row), "it does not converge")
        (self.folder / "mended").touch()
        self.assertEqual(self.label(row), "1.5")
        self.assertEqual(self.label(row), "1.5")  # without a task
        self.assertEqual(self.simulated(), {"a": 2})

    def test_rows_of_other_commands_and_tables(self):
        scripts = []
        for label in (1, 2):  # as with {id} among the arguments, or in two campaigns
            self.program = ["sh", "-c", f"cat >/dev/null; echo {label}"]
            scripts.append(self.start({"id": "a"}, SLURM_ORACLE_POLL="2"))
        self.assertEqual([script.communicate(timeout=120)[0].strip() for script in scripts], ["1", "2"])
        self.assertEqual(len(self.jobs()), 1)
        self.program = [sys.executable, "program.py"]
        self.assertEqual([self.label({"id": "a", "label": label}) for label in (3, 4, 3)], ["3", "4", "3"])
        self.assertEqual(self.simulated(), {"a": 2})

    def test_no_number(self):
        self.assertRegex(self.label({"id": "a", "label": "seven"}), "the program printed no number")

    def test_a_cancelled_task(self):
        script = self.start({"id": "a", "seconds": 60})
        while not (self.folder / "simulated").exists():
            time.sleep(0.1)
        subprocess.run(["scancel", *self.jobs()], check=True)
        _, err = script.communicate(timeout=120)
        self.assertRegex(err, r"^job \d+_0 ended without a result: CANCELLED")

    def test_a_job_that_slurm_refuses(self):
        self.assertRegex(self.label({"id": "a"}, SBATCH_PARTITION="missing"), "(?i)invalid partition")
        self.assertEqual(self.label({"id": "a"}), "1.5")

    def test_killed_while_the_task_runs(self):
        row = {"id": "a", "seconds": 3}
        script = self.start(row)
        while not (self.folder / "simulated").exists():
            time.sleep(0.1)
        os.killpg(script.pid, signal.SIGKILL)
        script.communicate()
        self.assertEqual(self.label(row), "1.5")
        self.assertEqual(self.simulated(), {"a": 1})

    def test_killed_before_the_job_is_submitted(self):
        script = self.start({"id": "a"}, **self.killer("kill -9 -$group"))
        script.communicate(timeout=120)
        self.assertEqual(script.returncode, -signal.SIGKILL)
        self.assertEqual(self.jobs(), set())
        self.assertEqual(self.label({"id": "a"}), "1.5")
        self.assertEqual(self.simulated(), {"a": 1})

    def test_killed_before_the_number_of_the_job_is_noted(self):
        for seconds in (0, 3):  # while the job waits in the queue, and after it has ended
            with self.subTest(seconds=seconds):
                row = {"id": f"a{seconds}"}
                killer = self.killer(f'"$real" "$@" >/dev/null; sleep {seconds}; kill -9 -$group')
                script = self.start(row, **killer)
                script.communicate(timeout=120)
                shutil.rmtree(self.folder / "bin")
                self.assertEqual(script.returncode, -signal.SIGKILL)
                self.assertEqual(self.label(row), "1.5")
                self.assertEqual(self.simulated()[row["id"]], 1)
        self.assertEqual(len(self.jobs()), 2)

    def test_an_array_that_was_submitted_twice(self):  # by a script that was killed, and by its successor
        row = {"id": "a"}
        twice = self.killer('task=$(cat); printf "%s\\n" "$task" | "$real" "$@" >/dev/null; printf "%s\\n" "$task" | exec "$real" "$@"')
        self.assertEqual(self.label(row, **twice), "1.5")
        while "PENDING" in (states := self.states()) or "RUNNING" in states:
            time.sleep(0.1)
        self.assertEqual(len(self.jobs()), 2)
        self.assertEqual(self.simulated(), {"a": 1})

    def test_killed_campaign(self):
        table = subprocess.run([sys.executable, HERE / "candidates.py"], check=True, stdout=subprocess.PIPE).stdout
        (self.folder / "candidates.csv").write_bytes(table)
        subprocess.run(["nextbatch", "campaign", "new", "c.db", "candidates.csv", "--target", "range", "--id", "throw",
                        "--learner", "trees", "-n", "8", "-q"], cwd=self.folder, check=True)
        run = ["nextbatch", "campaign", "run", "c.db", "--oracle", f"{sys.executable} {HERE}/slurm.py {sys.executable} program.py",
               "--parallel", "8", "--max-labels", "24", "--json", "-q"]
        for enough in (4, 12):
            campaign = subprocess.Popen(run, cwd=self.folder, env=self.environment, stdout=subprocess.PIPE)
            while not (self.folder / "simulated").exists() or len(self.simulated()) < enough:
                time.sleep(0.1)
            campaign.kill()
            campaign.communicate()
        out = subprocess.run(run, cwd=self.folder, env=self.environment, check=True, text=True, stdout=subprocess.PIPE).stdout
        self.assertEqual(json.loads(out)["counts"]["labelled"], 24)
        self.assertEqual(set(self.simulated().values()), {1})
        self.assertEqual(sum(self.simulated().values()), 24)


if __name__ == "__main__":
    unittest.main()
