"""Labels a row in a task of a Slurm array job.

    nextbatch campaign run c.db --oracle 'python3 slurm.py ./simulate' --parallel 64

`campaign run` starts this script once for each row. Rows that arrive within SLURM_ORACLE_POLL seconds of one another
become one array job, whose tasks run the command of the arguments: it reads its row and prints the label as every oracle
does. The script waits for its task, and prints the label or the reason of the failure.

All that has happened lies in the folder SLURM_ORACLE_FOLDER ("jobs"), which login and compute nodes share:

    jobs/00003/array.json   name of the job, ids of the rows in the order of its tasks
    jobs/00003/job          number of the job
    jobs/00003/7.json       row of task 7, and in 7.sh the command that labels it; then 7.out, 7.err (what the program printed), 7.exit (its exit code)
    jobs/00003/7.failed     the failure was reported: the next attempt at this row is a new task

So a script that is started again, whatever killed the last one, finds the task of its row and submits nothing. A row of
the same id with other values or another command is another row.
"""

import contextlib
import fcntl
import json
import os
import pathlib
import shlex
import subprocess
import sys
import time
import uuid
from collections.abc import Iterator

JOBS = pathlib.Path(os.environ.get("SLURM_ORACLE_FOLDER", "jobs")).absolute()
POLL = float(os.environ.get("SLURM_ORACLE_POLL", "10"))
ENDED = {"BOOT_FAIL", "CANCELLED", "COMPLETED", "DEADLINE", "FAILED", "NODE_FAIL", "OUT_OF_MEMORY", "PREEMPTED", "TIMEOUT"}

# A task. It also notes the number of its job, in case that the script was killed before it could. A script that was
# killed may have submitted the array a moment after its successor looked for it: the job that is noted first counts, and
# the tasks of the other do nothing.
TASK = """#!/bin/sh
jobs={folder}
i=$SLURM_ARRAY_TASK_ID
job=$SLURM_ARRAY_JOB_ID
[ -e "$jobs/job" ] || {{ echo "$job" >"$jobs/$job.$i" && ln "$jobs/$job.$i" "$jobs/job"; rm -f "$jobs/$job.$i"; }} 2>/dev/null
[ "$(cat "$jobs/job")" = "$job" ] || exit 0
. "$jobs/$i.sh" <"$jobs/$i.json" >"$jobs/$i.out" 2>"$jobs/$i.err"
code=$?
echo $code >"$jobs/$i.code" && mv "$jobs/$i.code" "$jobs/$i.exit"
exit $code
"""


def main() -> None:
    question = {"row": json.load(sys.stdin), "command": shlex.join(sys.argv[1:])}
    (JOBS / "waiting").mkdir(parents=True, exist_ok=True)
    try:
        folder, i = find(question) or gather(question)
        with locked():
            submit(folder)
    except SlurmError as error:
        sys.exit(str(error))
    state = wait(folder, i)
    label = label_of(folder, i)
    if label is None:
        (folder / f"{i}.failed").touch()
        sys.exit(reason(folder, i, state))
    print(label)


def find(question: dict) -> tuple[pathlib.Path, int] | None:
    """The array and the task of a row and its command."""
    for path in sorted(JOBS.glob("*/array.json"), reverse=True):
        for i, row_id in enumerate(json.loads(path.read_text())["ids"]):
            if row_id == question["row"]["id"] and asked(path.parent, i) == question and not (path.parent / f"{i}.failed").exists():
                return path.parent, i
    return None


def asked(folder: pathlib.Path, i: int) -> dict:
    return {"row": json.loads((folder / f"{i}.json").read_text()), "command": (folder / f"{i}.sh").read_text()}


def gather(question: dict) -> tuple[pathlib.Path, int]:
    """Waits for more rows. Whoever wakes first makes an array of all that wait."""
    mine = JOBS / "waiting" / f"{os.getpid()}.json"
    write(mine, json.dumps(question))
    time.sleep(POLL)
    with locked():
        mine.unlink(missing_ok=True)
        return find(question) or create(distinct([question, *waiting()]))


def distinct(questions: list[dict]) -> list[dict]:
    """Each question once: the script of a campaign that was killed may wait beside its successor."""
    return [question for i, question in enumerate(questions) if question not in questions[:i]]


def waiting() -> Iterator[dict]:
    """What other scripts ask that is in no array."""
    for path in sorted((JOBS / "waiting").glob("*.json")):
        question = json.loads(path.read_text())
        if not pathlib.Path("/proc", path.stem).exists():
            path.unlink()  # its script was killed
        elif not find(question):
            yield question


def create(questions: list[dict]) -> tuple[pathlib.Path, int]:
    """Makes an array, and returns the task of the first question."""
    numbers = [int(path.name) for path in JOBS.glob("[0-9]*")]
    folder = JOBS / f"{max(numbers, default=0) + 1:05d}"
    folder.mkdir()
    for i, question in enumerate(questions):
        write(folder / f"{i}.json", json.dumps(question["row"]))
        write(folder / f"{i}.sh", question["command"])
    # From here on, the rows are in this array.
    write(folder / "array.json", json.dumps({"name": f"nextbatch-{uuid.uuid4()}", "ids": [question["row"]["id"] for question in questions]}))
    return folder, 0


def submit(folder: pathlib.Path) -> None:
    """Submits an array, unless that has happened: a killed script may have left no note of it."""
    if (folder / "job").exists():
        return
    array = json.loads((folder / "array.json").read_text())
    job = next((job for job, _, _ in queue(array["name"])), None)
    if job is None:
        task = TASK.format(folder=shlex.quote(str(folder)))
        job = run(["sbatch", "--parsable", f"--job-name={array['name']}", f"--array=0-{len(array['ids']) - 1}",
                   f"--output={folder}/%a.log"], task).split(";")[0].strip()
    mine = folder / f"job.{os.getpid()}"
    mine.write_text(job)
    with contextlib.suppress(FileExistsError):
        os.link(mine, folder / "job")
    mine.unlink()


def wait(folder: pathlib.Path, i: int) -> str:
    """Returns when the task has ended, with the state in which Slurm saw it last."""
    missed = 0
    while not (folder / f"{i}.exit").exists():
        try:
            state = states(folder).get(str(i), "unknown")
        except SlurmError:  # the controller does not answer: ask again later
            state = "PENDING"
        if state in ENDED or state == "unknown":
            missed += 1  # what it wrote may be late on a network file system
            if missed > 3:
                return state
        time.sleep(POLL)
    return "COMPLETED"


def states(folder: pathlib.Path) -> dict[str, str]:
    """The states of an array's tasks. All scripts that wait for it share one request per POLL seconds."""
    with locked():
        cache = folder / "states.json"
        if not cache.exists() or time.time() - cache.stat().st_mtime >= POLL:
            name = json.loads((folder / "array.json").read_text())["name"]
            job = (folder / "job").read_text().strip()
            write(cache, json.dumps({i: state for of, i, state in queue(name) if of == job}))
        return json.loads(cache.read_text())


def queue(name: str) -> list[list[str]]:
    """Job, task and state of all that squeue knows by a name."""
    out = run(["squeue", "--noheader", "--array", "--states=all", f"--name={name}", "--format=%F %K %T"])
    return [line.split() for line in out.splitlines()]


def label_of(folder: pathlib.Path, i: int) -> str | None:
    try:
        if (folder / f"{i}.exit").read_text().strip() == "0":
            label = (folder / f"{i}.out").read_text()
            json.loads(label)
            return label
    except (FileNotFoundError, json.JSONDecodeError):
        pass
    return None


def reason(folder: pathlib.Path, i: int, state: str) -> str:
    job = f"{(folder / 'job').read_text().strip()}_{i}"
    if state == "unknown":  # squeue forgets a job after some minutes; sacct does not, where there is accounting
        sacct = ["sacct", "--noheader", "--allocations", "--parsable2", "--format=State", f"--jobs={job}"]
        with contextlib.suppress(SlurmError):
            state = run(sacct).strip() or state
    last = ""
    with contextlib.suppress(FileNotFoundError):
        last = (folder / f"{i}.err").read_text().strip().split("\n")[-1]
    if (folder / f"{i}.exit").exists():
        return f"job {job}: {last or 'the program printed no number'}"
    return f"job {job} ended without a result: {state} {last}".strip()


@contextlib.contextmanager
def locked():
    with open(JOBS / "lock", "w") as file:
        fcntl.flock(file, fcntl.LOCK_EX)
        yield


def write(path: pathlib.Path, text: str) -> None:
    """Writes a file as a whole or not at all."""
    new = path.with_name(f"{path.name}.{os.getpid()}")
    new.write_text(text)
    new.rename(path)


class SlurmError(Exception):
    """What a command of Slurm wrote before it failed."""


def run(command: list[str], text: str | None = None) -> str:
    done = subprocess.run(command, input=text, text=True, capture_output=True)
    if done.returncode != 0:
        raise SlurmError(done.stderr.strip() or f"{command[0]} failed")
    return done.stdout


if __name__ == "__main__":
    main()
