"""The teacher of `sentiment`: a published encoder learns to judge film reviews, and later judges sentences for it.

    pip install -r requirements-train.txt transformers==5.23.0
    PYTHONPATH=. python assets/recipes/sentiment_teacher.py ENCODER --data DATA --to runs/sentiment-teacher

ENCODER is a folder of `sentence-transformers/all-MiniLM-L6-v2` (Apache-2.0), or of another BERT. What comes out is a
`BertForSequenceClassification`, which Headlight reads like any other: `python -m workshop.data judged --by
runs/sentiment-teacher …`. Nothing of it ships but what it says of sentences, as the labels that `sentiment` learns.
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

Labelled = tuple[str, float]  # a text and its probability of praise
COLUMNS = {"source_column": 1, "target_column": 0, "header": True}
IMDB = CorpusSpec(source="sentiment/imdb/train.tsv.gz", but_one_in=20, **COLUMNS)
MADE = CorpusSpec(source="templates/reviews/train.tsv", **COLUMNS)
SENTENCES = [CorpusSpec(source=f"sentiment/sst2/train-{part}.tsv", **COLUMNS) for part in ("sentences", "phrases")]
HELD_OUT = CorpusSpec(source="sentiment/sst2/val.tsv", **COLUMNS)
MADE_AN_EPOCH, CUTTINGS_AN_EPOCH = 5000, 2500
CUTTING = 60  # words of a long review
DOUBT = 0.075  # of a cutting's label: the rest of the review may say the opposite
MOST_TOKENS, BATCH_TOKENS, SORTED_AT_ONCE = 96, 2200, 4000
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
    random = Random(arguments.seed)  # noqa: S311 (no secret)
    tokenizer = AutoTokenizer.from_pretrained(arguments.encoder)
    model = BertForSequenceClassification.from_pretrained(
        arguments.encoder, num_labels=2, id2label={0: "negative", 1: "positive"}, attn_implementation="eager"
    )
    model.bert.embeddings.word_embeddings.weight.requires_grad_(False)  # a third of a step's time, for rare words
    held_out = labelled(HELD_OUT, arguments.data)
    optimiser = torch.optim.AdamW([each for each in model.parameters() if each.requires_grad], weight_decay=0.01)
    model.train()
    for step, batch in enumerate(endless(arguments.data, random), start=1):
        left = (arguments.steps - step) / arguments.steps
        for group in optimiser.param_groups:
            group["lr"] = PEAK_RATE * min(1.0, step / WARMUP) * left
        wished = torch.tensor([label for _, label in batch]) * (1 - SMOOTHING) + SMOOTHING / 2
        log_odds = log_odds_of(model, tokenizer, [text for text, _ in batch])
        loss = torch.nn.functional.binary_cross_entropy_with_logits(log_odds, wished)
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


def labelled(spec: CorpusSpec, data: Path) -> list[Labelled]:
    """Folded texts with their labels."""
    return [(normalise_review(pair.source), float(pair.target)) for pair in read_pairs(spec, data)]


def endless(data: Path, random: Random) -> Iterator[list[Labelled]]:
    """Batches of like length, epoch after epoch: all sentences, some of the made reviews, cuttings of long ones."""
    sentences = [each for spec in SENTENCES for each in labelled(spec, data)]
    made, reviews = labelled(MADE, data), labelled(IMDB, data)
    while True:
        rows = [
            *sentences,
            *random.sample(made, MADE_AN_EPOCH),
            *(cutting(*each, random) for each in random.sample(reviews, CUTTINGS_AN_EPOCH)),
        ]
        random.shuffle(rows)
        batches = list(batched(rows))
        random.shuffle(batches)
        yield from batches


def cutting(text: str, label: float, random: Random) -> Labelled:
    """So many words of a review: its end or any others, with some doubt about the label."""
    words = text.split()
    last = max(0, len(words) - CUTTING)
    first = random.randrange(last + 1) if random.random() < 0.6 else last
    return " ".join(words[first : first + CUTTING]), label * (1 - 2 * DOUBT) + DOUBT


def batched(rows: Sequence[Labelled]) -> Iterator[list[Labelled]]:
    """Neighbours by length; a word is counted as one and a third tokens."""
    for start in range(0, len(rows), SORTED_AT_ONCE):
        batch: list[Labelled] = []
        for row in sorted(rows[start : start + SORTED_AT_ONCE], key=lambda row: len(row[0])):
            batch.append(row)
            if len(batch) * (len(row[0].split()) * 4 / 3 + 2) >= BATCH_TOKENS:
                yield batch
                batch = []
        if batch:
            yield batch


def log_odds_of(model: BertForSequenceClassification, tokenizer: AutoTokenizer, texts: list[str]) -> torch.Tensor:
    """Of praise, `[texts]`."""
    given = tokenizer(texts, padding=True, truncation=True, max_length=MOST_TOKENS, return_tensors="pt")
    logits = model(**given).logits  # [texts, 2]
    return logits[:, 1] - logits[:, 0]


def accuracy(model: BertForSequenceClassification, tokenizer: AutoTokenizer, rows: Sequence[Labelled]) -> float:
    """The share of texts judged right."""
    model.eval()
    right = 0
    with torch.inference_mode():
        for batch in batched(rows):
            log_odds = log_odds_of(model, tokenizer, [text for text, _ in batch])
            right += sum((odds > 0) == (label > 0.5) for odds, (_, label) in zip(log_odds.tolist(), batch, strict=True))
    model.train()
    return right / len(rows)


if __name__ == "__main__":
    main()
