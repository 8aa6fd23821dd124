"""Trains the teacher of `sentiment`: a published encoder is fine-tuned on film reviews, and then labels sentences.

    pip install -r requirements-train.txt transformers==5.23.0
    PYTHONPATH=. python assets/recipes/sentiment_teacher.py ENCODER --data DATA --to runs/sentiment-teacher

ENCODER is a folder of `sentence-transformers/all-MiniLM-L6-v2` (Apache-2.0), or of another BERT. The result is a
`BertForSequenceClassification`, which Headlight reads: `python -m workshop.data judged --by runs/sentiment-teacher …`.
The teacher is not published, only the labels that `sentiment` is trained on.
"""

from __future__ import annotations

import argparse
from collections.abc import Iterator, Sequence
from pathlib import Path
from random import Random

import torch
from transformers import AutoTokenizer, BertForSequenceClassification

from headlight.model.text.cleaning import normalise_review
from headlight.model.training.corpora import CorpusSpec, read_pairs

Labelled = tuple[str, float]  # a text and its probability of being positive
COLUMNS = {"source_column": 1, "target_column": 0, "header": True}
IMDB = CorpusSpec(source="sentiment/imdb/train.tsv.gz", but_one_in=20, **COLUMNS)
GENERATED = CorpusSpec(source="templates/reviews/train.tsv", **COLUMNS)
SENTENCES = [CorpusSpec(source=f"sentiment/sst2/train-{part}.tsv", **COLUMNS) for part in ("sentences", "phrases")]
HELD_OUT = CorpusSpec(source="sentiment/sst2/val.tsv", **COLUMNS)
GENERATED_PER_EPOCH, EXCERPTS_PER_EPOCH = 5000, 2500
EXCERPT_WORDS = 60
LABEL_NOISE = 0.075  # of an excerpt: the rest of the review may be of the other class
MAX_TOKENS, BATCH_TOKENS, SORTED_TEXTS = 96, 2200, 4000
PEAK_RATE, WARMUP, SMOOTHING, REPORT_EVERY = 8e-5, 100, 0.05, 100


def main() -> None:
    """Fine-tune ENCODER and write the teacher's folder."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("encoder", type=Path, metavar="ENCODER")
    parser.add_argument("--data", type=Path, default=Path("data"))
    parser.add_argument("--to", type=Path, required=True, metavar="FOLDER")
    parser.add_argument("--steps", type=int, default=850)
    parser.add_argument("--seed", type=int, default=1)
    arguments = parser.parse_args()
    torch.manual_seed(arguments.seed)
    random = Random(arguments.seed)  # noqa: S311 - not a secret
    tokenizer = AutoTokenizer.from_pretrained(arguments.encoder)
    model = BertForSequenceClassification.from_pretrained(
        arguments.encoder, num_labels=2, id2label={0: "negative", 1: "positive"}, attn_implementation="eager"
    )
    # Training the embedding would take a third of a step, for rare words.
    model.bert.embeddings.word_embeddings.weight.requires_grad_(False)
    held_out = read_labelled(HELD_OUT, arguments.data)
    optimiser = torch.optim.AdamW([each for each in model.parameters() if each.requires_grad], weight_decay=0.01)
    model.train()
    for step, batch in enumerate(training_batches(arguments.data, random), start=1):
        remaining = (arguments.steps - step) / arguments.steps
        for group in optimiser.param_groups:
            group["lr"] = PEAK_RATE * min(1.0, step / WARMUP) * remaining
        targets = torch.tensor([label for _, label in batch]) * (1 - SMOOTHING) + SMOOTHING / 2
        log_odds = compute_log_odds(model, tokenizer, [text for text, _ in batch])
        loss = torch.nn.functional.binary_cross_entropy_with_logits(log_odds, targets)
        loss.backward()
        torch.nn.utils.clip_grad_norm_(model.parameters(), 1.0)
        optimiser.step()
        optimiser.zero_grad()
        if step % REPORT_EVERY == 0 or step == arguments.steps:
            print(
                f"step {step}: loss {float(loss):.3f}, accuracy {accuracy(model, tokenizer, held_out):.2%}", flush=True
            )
        if step == arguments.steps:
            break
    model.save_pretrained(arguments.to)
    tokenizer.save_pretrained(arguments.to)


def read_labelled(spec: CorpusSpec, data: Path) -> list[Labelled]:
    """Return normalised texts with their labels."""
    return [(normalise_review(pair.source), float(pair.target)) for pair in read_pairs(spec, data)]


def training_batches(data: Path, random: Random) -> Iterator[list[Labelled]]:
    """Yield batches of similar length: all sentences, some generated reviews, and excerpts of long ones per epoch."""
    sentences = [each for spec in SENTENCES for each in read_labelled(spec, data)]
    generated, reviews = read_labelled(GENERATED, data), read_labelled(IMDB, data)
    while True:
        rows = [
            *sentences,
            *random.sample(generated, GENERATED_PER_EPOCH),
            *(sample_excerpt(*each, random) for each in random.sample(reviews, EXCERPTS_PER_EPOCH)),
        ]
        random.shuffle(rows)
        batches = list(length_batches(rows))
        random.shuffle(batches)
        yield from batches


def sample_excerpt(text: str, label: float, random: Random) -> Labelled:
    """Return `EXCERPT_WORDS` words of a review, from its end or a random position, with label noise."""
    words = text.split()
    last = max(0, len(words) - EXCERPT_WORDS)
    first = random.randrange(last + 1) if random.random() < 0.6 else last
    return " ".join(words[first : first + EXCERPT_WORDS]), label * (1 - 2 * LABEL_NOISE) + LABEL_NOISE


def length_batches(rows: Sequence[Labelled]) -> Iterator[list[Labelled]]:
    """Yield batches of texts with similar lengths; a word counts as 4/3 tokens."""
    for start in range(0, len(rows), SORTED_TEXTS):
        batch: list[Labelled] = []
        for row in sorted(rows[start : start + SORTED_TEXTS], key=lambda row: len(row[0])):
            batch.append(row)
            if len(batch) * (len(row[0].split()) * 4 / 3 + 2) >= BATCH_TOKENS:
                yield batch
                batch = []
        if batch:
            yield batch


def compute_log_odds(model: BertForSequenceClassification, tokenizer: AutoTokenizer, texts: list[str]) -> torch.Tensor:
    """Return the log-odds of the positive class, `[texts]`."""
    inputs = tokenizer(texts, padding=True, truncation=True, max_length=MAX_TOKENS, return_tensors="pt")
    logits = model(**inputs).logits  # [texts, 2]
    return logits[:, 1] - logits[:, 0]


def accuracy(model: BertForSequenceClassification, tokenizer: AutoTokenizer, rows: Sequence[Labelled]) -> float:
    """Return the share of correctly classified texts."""
    model.eval()
    correct = 0
    with torch.inference_mode():
        for batch in length_batches(rows):
            log_odds = compute_log_odds(model, tokenizer, [text for text, _ in batch])
            correct += sum(
                (odds > 0) == (label > 0.5) for odds, (_, label) in zip(log_odds.tolist(), batch, strict=True)
            )
    model.train()
    return correct / len(rows)


if __name__ == "__main__":
    main()
