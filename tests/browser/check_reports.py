#!/usr/bin/env python3
"""Opens every kind of report in headless Chromium and checks what a reader meets.

    check_reports.py --spillway build/spillway --source . [--cache build/browser] [--self-test]

Needs chromium, poppler-utils and fonts-dejavu-core (apt); exits 77 where they are missing. The
accessibility checker comes from the npm registry, once; without network that part is left out,
unless --require-axe. SPILLWAY_UPDATE_GOLDEN=1 rewrites the pictures in golden/.
"""

import argparse
import concurrent.futures
import os
import shutil
import sys
import tempfile
import time

import axe
import cdp
import checks
import kinds
import pictures
import self_test

GOLDEN = os.path.join(checks.HERE, "golden")
SKIPPED = 77


def check_frame(page, path, kind):
    """What is asked of every report, odd ones too."""
    checks.open_report(page, path)
    out = checks.check_page(page, os.path.getsize(path))
    out += checks.check_charts(page)
    return out


def check_use(page):
    """The reader points, presses keys, opens everything; nothing else may have happened."""
    out = checks.check_mouse(page)
    page.evaluate("probe.open(true)")
    page.settle(0.1)
    out += checks.check_injected(page)
    page.evaluate("probe.open(false)")
    return out


def check_axe(page, script):
    """The page in light and dark, everything opened."""
    page.evaluate("probe.open(true)")
    out = axe.check(page, script)
    page.media(scheme="dark")
    page.settle(0.1)
    out += ["dark: " + text for text in axe.check(page, script)]
    page.media()
    page.evaluate("probe.open(false)")
    return out


def take_pictures(page, kind):
    """Pictures of the first screen, by name."""
    shots = {kind.name: pictures.take(page)}
    if kind.name == "plan":
        page.media(scheme="dark")
        page.settle(0.3)
        shots["plan-dark"] = pictures.take(page)
        page.media()
        page.size(*checks.PHONE, mobile=True)
        page.settle(0.3)
        shots["plan-phone"] = pictures.take(page)
        page.size(*checks.DESKTOP)
        page.settle(0.3)
    return shots


def check_report(browser, studio, path, kind, folder, script, update):
    """Everything that is wrong with one report."""
    page = browser.page(*checks.DESKTOP)
    page.media()
    out = check_frame(page, path, kind)
    if kind.picture:
        for name, shot in take_pictures(page, kind).items():
            out += pictures.check(studio, shot, os.path.join(GOLDEN, name + ".png"), update)
    if kind.full or kind.hostile:
        out += check_use(page)
    if kind.hostile:
        text = page.evaluate("document.documentElement.textContent")
        if kinds.PAYLOADS[1] not in text:
            out.append("the hostile names are not in it, so it shows nothing")
    if page.evaluate("document.title.startsWith('Plan: ')"):
        out += checks.check_answer(page)
    if kind.full:
        out += checks.check_colours(page)
        out += checks.check_keys(page)
        out += checks.check_tab_order(page)
        out += checks.check_words_in_drawings(page)
        out += checks.check_dark(page)
        out += checks.check_phone(page)
        out += checks.check_charts(page)  # after all that, still drawn
        out += checks.check_print(page, folder, kind.pages)
        if script:
            out += check_axe(page, script)
        out += checks.check_heads(page, folder)  # last: it changes the page
    out += checks.check_silent(page)
    if kind.full or kind.hostile:
        page.scripts(False)
        checks.open_report(page, path, wait=0)
        out += checks.check_without_scripts(page)
        out += checks.check_injected(page)
    page.close()
    return list(dict.fromkeys(out))


def missing_tools():
    missing = [] if cdp.find_chromium() else ["chromium"]
    missing += [tool for tool in ("pdfinfo", "pdftotext", "pdfimages") if not shutil.which(tool)]
    if not os.path.exists("/usr/share/fonts/truetype/dejavu/DejaVuSans.ttf"):
        missing.append("the DejaVu fonts")
    return missing


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--spillway", required=True)
    parser.add_argument("--source", required=True, help="folder of the project")
    parser.add_argument("--cache", help="folder to keep the accessibility checker in")
    parser.add_argument("--require-axe", action="store_true", help="fail without that checker")
    parser.add_argument("--self-test", action="store_true",
                        help="first show that each check can fail")
    parser.add_argument("--only", help="kinds of reports, comma-separated")
    parser.add_argument("--html", help="check this file instead, as a full report of its own")
    parser.add_argument("--picture", help="with --html: write its first screen to this PNG")
    parser.add_argument("--keep", help="folder for the reports, instead of a temporary one")
    options = parser.parse_args()

    missing = missing_tools()
    if missing:
        print(f"skipped: no {', '.join(missing)} (apt install chromium poppler-utils "
              "fonts-dejavu-core)")
        return SKIPPED
    script, why = axe.load(options.cache)
    if not script:
        print(f"accessibility checker left out: {why}")
        if options.require_axe:
            return 1
    update = os.environ.get("SPILLWAY_UPDATE_GOLDEN") == "1"
    spillway, source = os.path.abspath(options.spillway), os.path.abspath(options.source)

    failed = 0
    with tempfile.TemporaryDirectory(prefix="spillway-browser-") as folder:
        reports = os.path.abspath(options.keep or folder)
        os.makedirs(reports, exist_ok=True)
        listed = kinds.kinds(reports)
        if options.html:
            listed = [kinds.Kind(os.path.basename(options.html), "", picture=False)]
        elif options.only:
            listed = [kind for kind in listed if kind.name in options.only.split(",")]
        with cdp.Browser.start(folder) as browser, \
                concurrent.futures.ThreadPoolExecutor(1) as makers:
            print(f"{browser.version}, axe-core {axe.VERSION if script else 'left out'}")
            # The programs run while the browser does, the slow plan first.
            made = [makers.submit(kinds.make, spillway, kind, reports, source)
                    if not options.html else None for kind in listed]
            if options.self_test:
                start = time.monotonic()
                problems = self_test.run(browser, folder, script)
                failed += len(problems)
                print(f"self-test: {len(self_test.CANARIES) + 1} broken pages "
                      f"({time.monotonic() - start:.1f} s)")
                for problem in problems:
                    print("  " + problem)
            studio = browser.page()
            if options.picture:
                page = browser.page(*checks.DESKTOP)
                checks.open_report(page, os.path.abspath(options.html))
                pictures.check(studio, pictures.take(page), os.path.abspath(options.picture), True)
                return 0
            for kind, making in zip(listed, made):
                start = time.monotonic()
                try:
                    path = making.result() if making else os.path.abspath(options.html)
                    start = time.monotonic()
                    problems = check_report(browser, studio, path, kind, folder, script, update)
                except (RuntimeError, cdp.BrowserError) as error:
                    problems = [str(error)]
                failed += len(problems)
                print(f"{kind.name}: {'FAILED' if problems else 'ok'} "
                      f"({time.monotonic() - start:.1f} s)")
                for problem in problems:
                    print("  " + problem)
                sys.stdout.flush()
    print(f"{failed} problems" if failed else "all reports pass")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
