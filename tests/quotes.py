#!/usr/bin/env python3
"""Checks that the words which claims quote are in the papers: tests/quotes.py FOLDER

FOLDER has the texts of the papers, which are not part of this repository, as files whose names hold the system's name:
market.txt, 003-heft.txt and so on. Line breaks, hyphens at ends of lines, and kinds of quotation marks and dashes do not
count. Exits 1 if a quote is missing, and 2 if a paper has no text.
"""

import pathlib
import re
import sys
import tomllib

ROOT = pathlib.Path(__file__).resolve().parent.parent
PAPERS = ["market", "dfrs", "provisioning", "heft", "reservation"]
# A quote in a table of claims that is written in Rust: its place, and its words in one or several lines.
RUST_QUOTE = re.compile(r'Says::Quote\(\s*"((?:[^"\\]|\\.)*)",\s*"((?:[^"\\]|\\.)*)",?\s*\)', re.DOTALL)


def normalise(text: str) -> str:
    text = re.sub(r"-\n\s*", "", text.replace("\u00ad", ""))
    for found, plain in {"\u2019": "'", "\u2018": "'", "\u201c": '"', "\u201d": '"', "\u2013": "-", "\u2014": "-",
                         "\ufb01": "fi", "\ufb02": "fl", "\ufb00": "ff", "\ufb03": "ffi", "\u00d7": "x"}.items():
        text = text.replace(found, plain)
    return re.sub(r"\s+|-", "", text).lower()


def quotes_of(paper: str) -> list[str]:
    """Every quote of the claims of a paper."""
    quotes = []
    for path in sorted((ROOT / "experiments" / "papers").glob(f"{paper}*.toml")):
        experiment = tomllib.loads(path.read_text())
        for claim in experiment.get("claim", []):
            quotes += [source["quote"] for source in claim.get("says", []) if "quote" in source]
        quotes += [choice["quote"] for choice in experiment.get("choice", []) if "quote" in choice]
    for folder in (ROOT / "src").rglob(paper):
        if folder.is_dir() and folder.parent.name in ("experiment", "papers"):
            for path in sorted(folder.rglob("*.rs")):
                found = RUST_QUOTE.findall(path.read_text())
                quotes += [re.sub(r"\\\n\s*", "", words) for _, words in found]
    return quotes


def main() -> int:
    if len(sys.argv) != 2:
        print(__doc__.strip(), file=sys.stderr)
        return 2
    missing = 0
    total = 0
    for paper in PAPERS:
        texts = sorted(path for path in pathlib.Path(sys.argv[1]).glob("*.txt") if paper in path.name)
        if not texts:
            print(f"{sys.argv[1]}: no text of the paper {paper}: expected a file *{paper}*.txt", file=sys.stderr)
            return 2
        text = "".join(normalise(path.read_text()) for path in texts)
        for quote in quotes_of(paper):
            total += 1
            if normalise(quote) not in text:
                missing += 1
                print(f"{paper}: not in the paper: {quote!r}")
    print(f"{total - missing} quotes found, {missing} missing")
    return 1 if missing else 0


if __name__ == "__main__":
    sys.exit(main())
