"""Tries every plant of `plant.py` on a few scenarios: each has to be found."""
import os
import shutil
import tempfile

import case as cases
from plant import PLANTS

EACH = 3                                           # scenarios that each plant is tried on


def try_plant(function, folder, find):
    """(what was planted, whether it was found), or None where it does not apply."""
    before = {tuple(map(str, row)) for row in find(cases.open_case(0, folder, None))}
    with tempfile.TemporaryDirectory() as work:
        copy = os.path.join(work, "copy")
        shutil.copytree(folder, copy)
        said = function(copy)
        if not said:
            return None
        try:
            after = {tuple(map(str, row)) for row in find(cases.open_case(0, copy, None))}
        except ValueError:
            return said, True                      # no longer a document
    if before - after and not after - before:
        return None                                # it mended what was a contradiction before
    return said, bool(after - before)


def self_test(work, seeds, find):
    folders = [os.path.join(work, str(seed)) for seed in seeds]
    folders = [f for f in folders if os.path.exists(os.path.join(f, "out/report.html")) and os.path.exists(os.path.join(f, "again/report.md"))]
    missed = 0
    for function in PLANTS:
        tried = []
        for folder in folders:
            result = try_plant(function, folder, find) if len(tried) < EACH else None
            tried += [(os.path.basename(folder), *result)] if result else []
        overlooked = [row for row in tried if not row[2]]
        missed += len(overlooked)
        for seed, said, _ in overlooked:
            print(f"overlooked: {function.__name__} in {seed}: {said}")
        if not tried:
            print(f"nothing to plant: {function.__name__}")
    print(f"{len(PLANTS)} kinds of contradictions planted, {missed} overlooked")
    return 1 if missed else 0
