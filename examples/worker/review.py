"""A worker of the contract audit-code-worker/v1alpha1, as small as one can be. Usage: review.py TASK_JSON

It stands for your own reviewer: it reads every file of every task and knows one single thing, that `eval(` and
`shell=True` are dangerous. Replace `look_at` by something that knows more.
"""

import json
import pathlib
import sys

DANGERS = {"eval(": "code-injection", "shell=True": "command-injection"}


def look_at(repo, task, path):
    """The findings of one file under the task's lens."""
    if task["lens"] != "security":
        return
    for number, line in enumerate((repo / path).read_text(errors="replace").split("\n"), start=1):
        for danger, category in DANGERS.items():
            if danger in line:
                yield {
                    "title": f"{danger} with a value that may come from outside", "category": category,
                    "severity": "medium", "confidence": "low", "lens": task["lens"],
                    "summary": "What the value holds is run.",
                    "affected_files": [{"path": path, "line_start": number, "line_end": number}],
                    "evidence": [f"{path}:{number} holds {danger}"], "quote": line.strip(),
                }


def answer(repo, task):
    """One result: every file covered with the line count that the host told, and what was found in them."""
    result = {key: task[key] for key in ("task_id", "unit_id", "pass_id", "lens")}
    result["file_coverage"] = [{"path": path, "total_lines": lines} for path, lines in task["file_line_counts"].items()]
    result["findings"] = [found for path in task["file_paths"] for found in look_at(repo, task, path)]
    if "inputs" in task:  # a second look at findings; this worker cannot judge, and says so
        result["verification"] = {"verified": False, "concerns": ["this worker has no judgement of its own"]}
    return result


work = json.loads(pathlib.Path(sys.argv[1]).read_text())
tasks = json.loads(pathlib.Path(work["pending_audit_tasks_path"]).read_text())
results = [answer(pathlib.Path(work["repo_root"]), task) for task in tasks]
pathlib.Path(work["audit_results_path"]).write_text(json.dumps(results))
