"""How the logs in this folder were made, each by the package itself in an environment of its own:

    uv run --with inspect_ai python make.py inspect
    uv run --with lm_eval --with torch --with transformers --with accelerate python make.py lm_eval

Inspect 0.3.285 with its mock model, lm-evaluation-harness 0.4.13 with its dummy model: twelve questions on four passages. No
test runs this file.
"""

import json
import random
import subprocess
import sys
from pathlib import Path

HERE = Path(__file__).parent
QUESTIONS = [{"question": f"What is {n} + {n}?", "answer": str(2 * n), "passage": f"p{n // 3}"} for n in range(12)]
EPOCHS = 2
KEPT = ("results", "config", "model_source", "model_name", "lm_eval_version")
LM_TASK = """task: sums
dataset_path: json
dataset_kwargs:
  data_files: {questions}
test_split: train
output_type: multiple_choice
doc_to_text: "{{{{question}}}}"
doc_to_choice: ["0", "{{{{answer}}}}", "-1"]
doc_to_target: 1
metric_list:
  - metric: acc
"""


class Words:
    """Counts words in place of tokens, whose table would be downloaded."""

    def encode(self, text: str, **_: object) -> list[str]:
        return text.split()


def inspect() -> None:
    import tiktoken
    from inspect_ai import Task, eval
    from inspect_ai.dataset import Sample
    from inspect_ai.model import ModelOutput, get_model
    from inspect_ai.scorer import match
    from inspect_ai.solver import generate

    tiktoken.get_encoding = tiktoken.encoding_for_model = lambda name: Words()
    samples = [
        Sample(id=f"q{place}", input=question["question"], target=question["answer"], metadata={"passage": question["passage"]})
        for place, question in enumerate(QUESTIONS)
    ]
    for name, share in (("plain", 0.5), ("tuned", 0.9)):
        drawn, answers = random.Random(name), [question["answer"] for question in QUESTIONS] * EPOCHS
        model = f"mockllm/{name}"
        outputs = [ModelOutput.from_content(model, answer if drawn.random() < share else "no idea") for answer in answers]
        sums = Task(dataset=samples, solver=generate(), scorer=match(numeric=True), epochs=EPOCHS, name="sums")
        eval(sums, model=get_model(model, custom_outputs=outputs), max_samples=1, log_dir=str(HERE / "inspect"), display="none")


def lm_eval() -> None:
    folder = HERE / "lm_eval"
    folder.mkdir(exist_ok=True)
    questions = folder / "questions.jsonl"
    questions.write_text("".join(json.dumps(question) + "\n" for question in QUESTIONS))
    (folder / "sums.yaml").write_text(LM_TASK.format(questions=questions))
    for seed in ("1", "2"):
        command = ["lm_eval", "--model", "dummy", "--tasks", "sums", "--include_path", folder, "--output_path", folder]
        subprocess.run([*command, "--log_samples", "--seed", seed], check=True)
    questions.unlink()
    (folder / "sums.yaml").unlink()
    for results in folder.rglob("results_*.json"):  # without what they say of the machine
        said = json.loads(results.read_text())
        results.write_text(json.dumps({name: said[name] for name in KEPT}, indent=1) + "\n")


if __name__ == "__main__":
    {"inspect": inspect, "lm_eval": lm_eval}[sys.argv[1]]()
