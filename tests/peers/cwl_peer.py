"""Writes the command lines that cwltool, the reference implementation of CWL, builds: one for each line of cases.

It runs in an environment of its own; a case is `{"tool": a CommandLineTool, "inputs": {...}}`.
"""

import json
import logging
import sys
import tempfile
from pathlib import Path

from cwltool.context import LoadingContext, RuntimeContext
from cwltool.load_tool import load_tool
from cwltool.workflow import default_make_tool

logging.getLogger("cwltool").setLevel(logging.ERROR)


def main() -> None:
    """Answer every line of the standard input."""
    with tempfile.TemporaryDirectory() as folder:
        for number, line in enumerate(sys.stdin):
            case = json.loads(line)
            file = Path(folder, f"{number}.cwl")
            file.write_text(json.dumps(case["tool"]), "utf-8")
            sys.stdout.write(json.dumps(command_line(file, case["inputs"], folder)) + "\n")


def command_line(file: Path, inputs: dict, folder: str) -> list[str]:
    """Return the words that cwltool would run, without running them."""
    tool = load_tool(str(file), LoadingContext({"construct_tool_object": default_make_tool, "do_validate": False}))
    context = RuntimeContext({"basedir": folder, "use_container": False, "outdir": folder, "tmpdir_prefix": folder})
    job = next(tool.job(inputs, lambda *_: None, context))
    return list(job.command_line)


if __name__ == "__main__":
    main()
