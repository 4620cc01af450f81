"""Looks every figure of every page up in the document, whatever is said of it.

What is not found is no contradiction: pages also have sums, differences and shares. How many there are tells how much of
the pages no check knows by its meaning; `--list-figures` shows them, so that new pages get checks of their own.
"""
import bisect
from collections import Counter

from case import GIB
from checks import known_numbers, numbers_in
from documents import figures_in

LOOKED_UP = Counter()
NOT_FOUND = Counter()                              # (form, page, text)
SCALES = {"time": (1, 1e-3, 1e-6), "share": (1, 0.01), "bytes": (1, GIB), "": (1, 0.01, 100, 1000, 1e-3, 1 / GIB)}


def texts_of(report):
    for page, text in report.sentences():
        yield page, text
    for table in report.tables():
        for row in table.rows:
            for cell in row:
                yield table.page, cell


def holds(sorted_values, figure, scales):
    for scale in scales:
        low = (figure.value - figure.tolerance) / scale
        at = bisect.bisect_left(sorted_values, low)
        if at < len(sorted_values) and sorted_values[at] * scale <= figure.value + figure.tolerance:
            return True
    return False


def look_up(case):
    """Counts the figures of all forms that are in the document and that are not."""
    known = sorted(x for x in known_numbers(case) + numbers_in(case.plan.get("inputs", {}), []) if x == x)
    for form in ("terminal", "html", "md"):
        for page, text in texts_of(case.reports[form]):
            for figure in figures_in(text):
                found = holds(known, figure, SCALES[figure.kind])
                LOOKED_UP["found" if found else "not found"] += 1
                if not found:
                    NOT_FOUND[(form, page, text[:150])] += 1
