"""The code blocks of the documents, and the examples of every --help, as commands to run."""

import pathlib
import re
import subprocess


class Block:
    """Lines between fences, with the language that the fence names."""

    def __init__(self, path, line, language, lines):
        self.path, self.line, self.language, self.lines = path, line, language, lines

    @property
    def where(self):
        return f"{self.path}:{self.line}"


def documents(source):
    """Every document of the project, the top README first."""
    skipped = {"build", "out", ".git", "node_modules", "stand_ins"}
    found = [p for p in pathlib.Path(source).rglob("*.md")
             if not skipped.intersection(part.split("-")[0] for part in p.relative_to(source).parts)]
    return sorted(found, key=lambda p: (len(p.relative_to(source).parts) > 1, str(p)))


def blocks_of(path, name):
    """Fenced blocks. An indented block has no language, so none is allowed: it is returned as one of
    language "indented"."""
    out, fence, before = [], None, ""
    for number, line in enumerate(path.read_text(encoding="utf-8").split("\n"), 1):
        if line.startswith("```"):
            if fence is None:
                fence = Block(name, number, line[3:].strip(), [])
                out.append(fence)
            else:
                fence = None
        elif fence is not None:
            fence.lines.append(line)
        elif line.startswith("    ") and before == "":
            out.append(Block(name, number, "indented", [line]))
        before = line
    return out


def commands_of(lines):
    """Commands with their comments: a backslash at the end of a line goes on below."""
    out, text = [], ""
    for line in lines:
        text += line.strip()
        if text.endswith("\\"):
            text = text[:-1].rstrip() + " "
            continue
        command, comment = split_comment(text)
        if command:
            out.append((command, comment))
        text = ""
    return out


def split_comment(text):
    """At the first # behind a blank that no quote holds."""
    quote = ""
    for i, c in enumerate(text):
        if quote:
            quote = "" if c == quote else quote
        elif c in "'\"":
            quote = c
        elif c == "#" and (i == 0 or text[i - 1] in " \t"):
            return text[:i].strip(), text[i + 1:].strip()
    return text.strip(), ""


def expected_code(comment):
    """0, or what the comment says: "exit 99 where it no longer holds" is not said of this call, so
    only "exit N" alone or "ends with exit N" counts."""
    match = re.match(r"exit (\d+)$", comment)
    return int(match.group(1)) if match else 0


def help_of(spillway, verb):
    return subprocess.run([spillway, *verb.split(), "--help"], capture_output=True, text=True,
                          check=True).stdout


def section(text, heading):
    """Lines below `heading:` up to the next empty line."""
    lines = text.split("\n")
    if f"{heading}:" not in lines:
        return []
    start = lines.index(f"{heading}:") + 1
    end = next((i for i in range(start, len(lines)) if not lines[i]), len(lines))
    return lines[start:end]


def verbs_of(spillway, parent=""):
    """Every verb of the program, nested ones behind their parent."""
    out = [parent]
    for line in section(help_of(spillway, parent), "Verbs"):
        if line.startswith("  ") and line[2] != " ":
            out += verbs_of(spillway, f"{parent} {line.split()[0]}".strip())
    return out


def help_blocks(spillway):
    """The examples of each page as a block."""
    out = []
    for verb in verbs_of(spillway):
        lines = [line for line in section(help_of(spillway, verb), "Examples")
                 if line.startswith("  ")]
        out.append(Block(f"spillway {verb} --help".replace("  ", " "), 0, "sh", lines))
    return out
