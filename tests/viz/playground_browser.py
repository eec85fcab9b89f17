#!/usr/bin/env python3
"""Opens docs/playground in headless Chromium: core runs in the page, and what it shows is what the program plans.

usage: playground_browser.py DASHLAB PLAYGROUND/index.html. Ends with 77 (skipped) without Chromium.
"""

import json
import os
import pathlib
import subprocess
import sys
import tempfile
import time

from explorer_browser import browse, check, counted


def inner(page, code):
    """Evaluates in the explorer's frame (whose own rules forbid eval)."""
    tree = page.call("Page.getFrameTree")["frameTree"]
    frame = tree["childFrames"][0]["frame"]["id"]
    return page.js(code, page.contexts[frame])


def wait_for(page, test, what):
    for _ in range(200):
        try:
            if test():
                return
        except (RuntimeError, KeyError):
            pass  # between two pages
        time.sleep(0.1)
    raise TimeoutError(f"{what}: {page.complaints}")


def ready(page):
    wait_for(page, lambda: inner(page, "!window.old && typeof panels !== 'undefined' && panels.length > 0"),
             "the explorer does not come up")


def planned(dashlab, *flags):
    return json.loads(subprocess.run([dashlab, "plan", *flags, "--json"], check=True, capture_output=True).stdout)


def change(page, **fields):
    # A mark in the old page tells when the new one has come.
    inner(page, "window.old = true")
    for name, value in fields.items():
        page.js(f"form[{json.dumps(name)}].value = {json.dumps(value)}")
    page.js("form.dispatchEvent(new Event('input', {bubbles: true}))")


def main():
    dashlab, index = os.path.abspath(sys.argv[1]), pathlib.Path(sys.argv[2]).resolve()
    with tempfile.TemporaryDirectory(ignore_cleanup_errors=True) as name, browse(pathlib.Path(name)) as page:
        if page is None:
            return 77
        page.call("Page.navigate", url=index.as_uri())
        wait_for(page, lambda: page.js("core !== null"), "the core does not come up")
        ready(page)
        names = inner(page, "runs.map(r => r.name).join()").split(",")
        for number, schedule in enumerate(names):
            plan = planned(dashlab, "--mask", "causal", "--tiles", "8", "--heads", "4", "--schedule", schedule)
            check(f"makespan of {schedule}", inner(page, f"runs[{number}].makespan / runs[{number}].ticks"), plan["makespan"])
        check("shift does not fit causal", page.js("document.querySelector('input[value=shift]').parentElement.className"), "unfit")

        change(page, mask="window")
        ready(page)
        plan = planned(dashlab, "--mask", "window:2,0", "--tiles", "8", "--heads", "4", "--schedule", "ascending")
        check("a window", inner(page, "runs[0].makespan / runs[0].ticks"), plan["makespan"])
        check("the address holds the form", page.js("location.hash.includes('mask=window')"), True)

        page.js("form.more.value = 'nonsense'; form.dispatchEvent(new Event('input', {bubbles: true}))")
        wait_for(page, lambda: page.js("document.getElementById('said').textContent !== ''"), "nonsense is not refused")
        check("the reason names the mask", page.js("document.getElementById('said').textContent.includes('window')"), True)
        check("console", page.complaints, [])
        print(f"{counted()} checks")
        return 0


if __name__ == "__main__":
    sys.exit(main())
