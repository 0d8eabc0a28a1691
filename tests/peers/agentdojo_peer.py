"""Writes AgentDojo's suites as JSON: their tools, and the calls of their tasks with the answers of their own services.

It runs in an environment of its own. `outside` has the calls of a user's task whose answers show what others than the
user can write, each with its path: AgentDojo's own places for injections, with a harmless word there.
"""

import json
import sys
from importlib.util import find_spec
from pathlib import Path
from types import ModuleType

import yaml
from pydantic_core import to_jsonable_python

yaml.SafeLoader = yaml.CSafeLoader  # it reads its environments again for each task, five sixths of a run's CPU
# Its package of pipelines imports the clients of all models, most of a run's CPU, and the suites need two names of it.
pipeline = ModuleType("agentdojo.agent_pipeline")
pipeline.__path__ = [str(Path(find_spec("agentdojo").origin).parent / "agent_pipeline")]
checker = ModuleType("agentdojo.agent_pipeline.ground_truth_pipeline")
checker.GroundTruthPipeline = object  # by which AgentDojo checks its own tasks
sys.modules |= {pipeline.__name__: pipeline, checker.__name__: checker}

from agentdojo.functions_runtime import FunctionsRuntime  # noqa: E402
from agentdojo.task_suite.load_suites import get_suites  # noqa: E402

VERSION = "v1.2.2"
MARK = "outsiderswordhere"


def main() -> None:
    """Write all suites."""
    json.dump({name: described(suite) for name, suite in get_suites(VERSION).items()}, sys.stdout, default=str)


def described(suite) -> dict:
    """Return the tools and the tasks of a suite."""
    tools = [
        {"name": one.name, "description": one.description, "inputSchema": one.parameters.model_json_schema()}
        for one in suite.tools
    ]
    marked = dict.fromkeys(suite.get_injection_vector_defaults(), MARK)
    tasks = {}
    for name, task in suite.user_tasks.items():
        shown = [path_of(call["answer"]) for call in calls(suite, task, marked)]
        tasks[name] = {
            "order": task.PROMPT,
            "calls": calls(suite, task, {}),
            "outside": [{"place": place, "path": path} for place, path in enumerate(shown) if path],
        }
    injections = {
        name: {"order": task.GOAL, "calls": calls(suite, task, {})} for name, task in suite.injection_tasks.items()
    }
    return {"tools": tools, "tasks": tasks, "injections": injections}


def path_of(answer, path: str = "raw") -> str:
    """Return the path of the mark in an answer; empty without one."""
    if isinstance(answer, (dict, list)):
        inner = answer.items() if isinstance(answer, dict) else enumerate(answer)
        paths = ((f"{path}[{key}]" if isinstance(key, int) else f"{path}.{key}", one) for key, one in inner)
        return next(filter(None, (path_of(one, longer) for longer, one in paths)), "")
    return path if MARK in str(answer) else ""


def calls(suite, task, injected: dict) -> list[dict]:
    """Return the calls that solve a task, each with its answer."""
    services = suite.load_and_inject_default_environment(injected)
    services = task.init_environment(services) if hasattr(task, "init_environment") else services
    found = []
    for call in task.ground_truth(services.model_copy(deep=True)):
        answer, _ = FunctionsRuntime(suite.tools).run_function(services, call.function, call.args)
        found.append(
            {"tool": call.function, "params": dict(call.args), "answer": to_jsonable_python(answer, fallback=str)}
        )
    return found


if __name__ == "__main__":
    main()
