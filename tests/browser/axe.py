"""axe-core (MPL-2.0), the accessibility checker: fetched from its registry when a test wants it,
checked against a pinned hash, kept in the build folder. It is no part of the project."""

import base64
import hashlib
import io
import os
import tarfile
import urllib.request

VERSION = "4.14.1"
URL = f"https://registry.npmjs.org/axe-core/-/axe-core-{VERSION}.tgz"
SHA512 = "FHfa+lmNjQZfJz1q8wKqIDwC6DExcHt/pkjNQb09a3NPjCKg2rhu5qb2S4r76ASyFNNtuFooJpZe37OgudVGtQ=="


def load(cache):
    """The checker's script, or None and why. `cache` is a folder, or None to keep nothing."""
    kept = cache and os.path.join(cache, f"axe-core-{VERSION}.tgz")
    data = None
    if kept and os.path.exists(kept):
        with open(kept, "rb") as file:
            data = file.read()
    if not data or not matches(data):
        try:
            with urllib.request.urlopen(URL, timeout=30) as answer:
                data = answer.read()
        except OSError as error:
            return None, f"{URL}: {error}"
        if not matches(data):
            return None, f"{URL}: its content is not the pinned one"
        if kept:
            os.makedirs(cache, exist_ok=True)
            with open(f"{kept}.{os.getpid()}", "wb") as file:
                file.write(data)
            os.replace(f"{kept}.{os.getpid()}", kept)
    with tarfile.open(fileobj=io.BytesIO(data)) as archive:
        return archive.extractfile("package/axe.min.js").read().decode(), ""


def matches(data):
    return base64.b64encode(hashlib.sha512(data).digest()).decode() == SHA512


def check(page, script):
    """Serious and critical findings on the page as it is now."""
    if not page.evaluate("typeof axe === 'object'"):
        page.evaluate(script + "; 0")
    found = page.evaluate(
        "axe.run(document, {resultTypes: ['violations']}).then((r) => r.violations"
        ".filter((v) => v.impact === 'serious' || v.impact === 'critical')"
        ".map((v) => ({id: v.id, help: v.help, count: v.nodes.length,"
        " first: v.nodes[0].target.join(' '), why: v.nodes[0].failureSummary})))", 120)
    return [f"axe {v['id']}: {v['help']} ({v['count']} times, first {v['first']}: "
            f"{' '.join(v['why'].split())[:220]})" for v in found]
