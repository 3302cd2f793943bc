from __future__ import annotations

import dataclasses
import os
import resource
import signal
import subprocess
import sys

import pytest

import staf.kinds as kinds
from staf import __version__, api
from staf.cli import main
from staf.cli.terminal import Terminal
from staf.cli.verbs import VERBS


def test_help_lists_every_verb(staf):
    ran = staf("--help")
    assert ran.code == 0
    assert all(f"  {verb} " in ran.out for verb in VERBS)


def test_no_verb_shows_the_help_and_is_a_mistake(staf):
    assert staf().code == 2


def test_version(staf):
    assert staf("--version").out == f"staf {__version__}\n"


def test_an_unknown_verb_suggests_the_nearest(staf):
    assert "unknown verb 'rendr'; did you mean render?" in staf("rendr", "x").refused()


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["fit"], "FILE is missing"),
        (["fit", "a.png", "--stpes", "3"], "unknown option --stpes; did you mean --steps?"),
        (["fit", "a.png", "--nothing"], "unknown option --nothing (see"),
        (["fit", "a.png", "--steps", "many"], "--steps takes a whole number, got 'many'"),
        (["fit", "a.png", "--seconds", "soon"], "--seconds takes a number, got 'soon'"),
        (["fit", "a.png", "b.png"], "unexpected argument 'b.png'"),
        (["render", ".", "--scale"], "--scale needs a value"),
        (["fit", "a.npy", "--channels", "first"], "--channels must be last or none, got 'first'"),
        (["fit", "http://a/b.png"], "cannot open 'http:/a/b.png': there is no such file: download it first"),
        (["upscale", "a.png", "--scale", "2.5"], "--scale takes a whole number, got '2.5'"),
        (["denoise", "a.png", "--held-out", "x"], "--held-out takes a number, got 'x'"),
        (["fit", "missing.ply", "--resolution", "4"], "cannot open 'missing.ply': there is no such file"),
        (["render", "missing.safetensors", "--rate", "4"], "missing.safetensors does not exist"),
        (["render", "runs/missing", "--rate", "4"], "runs/missing does not exist"),
        (["fit", "missing/", "--downscale", "4"], "cannot open 'missing/': there is no such file or folder"),
        (["export", "."], "--out is missing"),
    ],
)
def test_mistakes_in_the_options_are_one_line(staf, words, message):
    assert message in staf(*words).refused()


@pytest.mark.parametrize("verb", VERBS)
def test_every_verb_has_help_in_which_every_option_is_described(staf, verb):
    ran = staf(verb, "--help")
    assert ran.code == 0
    assert "default: None" not in ran.out
    for field in dataclasses.fields(VERBS[verb].load().options_for([])):
        assert field.name.rstrip("_").replace("_", "-") in ran.out.lower()


def test_help_beside_a_file_still_names_the_file(staf, picture):
    assert "FILE" in staf("fit", picture, "--help").out.splitlines()[0]


def test_a_long_title_is_not_broken_by_a_narrow_table(capsys):
    title = f"4x of {'a folder/' * 8}photo.png"
    Terminal(["staf"]).table(title, ("a", "b"), [("1", "2")])
    assert capsys.readouterr().out.splitlines()[0] == title


def test_a_bug_is_not_hidden(staf, picture, monkeypatch):
    def broken(*arguments, **more):
        raise ValueError("a bug")

    monkeypatch.setattr(kinds, "open", broken)
    with pytest.raises(ValueError, match="a bug"):
        staf("fit", picture)


@pytest.mark.parametrize("verb", ["fit", "denoise"])
def test_work_that_fails_before_it_writes_leaves_no_folder(staf, here, picture, monkeypatch, verb):
    def broken(*arguments, **more):
        raise RuntimeError("out of luck")

    monkeypatch.setattr(api, "fit", broken)
    for out in ((), ("--out", "new/deep/folder"), ("--out", "mine")):
        (here / "mine").mkdir(exist_ok=True)
        with pytest.raises(RuntimeError, match="out of luck"):
            staf(verb, picture, "--steps", 2, "--model", "siren", *out)
        assert sorted(path.name for path in here.iterdir()) == ["mine", "picture.png"]


def test_a_process_that_ends_by_ctrl_c_ignores_the_next_one(monkeypatch, capsys):
    def stopped(*arguments):
        raise KeyboardInterrupt

    previous = signal.getsignal(signal.SIGINT)
    # The package offers the function under the name of its module.
    monkeypatch.setattr(sys.modules["staf.cli.main"], "dispatch", stopped)
    try:
        assert main(["fit"]) == 130
        assert signal.getsignal(signal.SIGINT) == previous
        assert main() == 130
        assert signal.getsignal(signal.SIGINT) == signal.SIG_IGN
    finally:
        signal.signal(signal.SIGINT, previous)


def test_completion_scripts_know_verbs_and_options(staf):
    script = staf("--tyro-print-completion", "bash").out
    assert all(word in script for word in ("render", "compare", "--target-db", "--models"))


def test_help_is_quick_and_loads_no_torch(here):
    code = (
        "import sys; from staf.cli import main; "
        "[main(words) for words in (['--help'], ['fit', '--help'], ['compare', '--help'])]; "
        "sys.exit(any(name in sys.modules for name in ('torch', 'matplotlib', 'numpy')))"
    )
    environment = {**os.environ, "COLUMNS": "100"}
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, env=environment, timeout=60)
    assert done.returncode == 0, done.stderr
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    # Of the processor: a busy machine takes longer by the clock. Loading torch alone takes more.
    assert after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime < 2
