"""Runs the commands whose results a page quotes, and writes what they print into the page.

    python -m benchmarks.quote docs/benchmarks/choices.md [NAME ...]

A page quotes lines of benchmarks/results/NAME.md between `<!-- results: NAME -->` and
`<!-- /results -->`; the first line of that file is the command. All commands of the page are run,
or those named. Sentences are left as they are: read them after the tables have changed.
tests/test_measurements.py compares pages with results.
"""

import re
import shlex
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).parent.parent
RESULTS = ROOT / "benchmarks" / "results"
MARK = re.compile(r"(<!-- results: ([\w-]+) -->\n)(.*?)(<!-- /results -->)", re.DOTALL)


def printed(command: str) -> list[str]:
    """What a command prints, line by line."""
    words = [sys.executable if word == "python" else word for word in shlex.split(command)]
    done = subprocess.run(words, cwd=ROOT, stdout=subprocess.PIPE, text=True, check=True)
    return done.stdout.rstrip().splitlines()


def rewritten(text: str, name: str, before: list[str], after: list[str]) -> str:
    """The page with each line that was quoted as the command prints it now."""
    if len(before) != len(after):
        raise SystemExit(f"{name}: {len(after)} lines are printed, {len(before)} were: quote anew")
    now = dict(zip(reversed(before), reversed(after), strict=True))

    def block(found: re.Match[str]) -> str:
        begin, of, body, end = found.groups()
        if of != name:
            return found[0]
        return begin + "".join(f"{now.get(line, line)}\n" for line in body.splitlines()) + end

    return MARK.sub(block, text)


def main(page: str, *names: str) -> None:
    """Run the commands, keep what they print, and write it into all pages that quote it."""
    quoted = dict.fromkeys(found[1] for found in MARK.findall(Path(page).read_text("utf-8")))
    for name in names or quoted:
        path = RESULTS / f"{name}.md"
        first, *before = path.read_text("utf-8").splitlines()
        command = first.removeprefix("$ ")
        print(command, flush=True)
        after = printed(command)
        for each in [ROOT / "README.md", *(ROOT / "docs").glob("**/*.md")]:
            text = each.read_text("utf-8")
            if f"results: {name} -->" in text:
                each.write_text(rewritten(text, name, before, after), "utf-8")
        path.write_text("\n".join([first, *after]) + "\n", "utf-8")


if __name__ == "__main__":
    main(*sys.argv[1:])
