"""Lessons of the page, in page order. Each lesson is one file and one entry in `LESSONS`; `lesson.py` is the format."""

from __future__ import annotations

from headlight.viz.lessons.classifier import VERDICT
from headlight.viz.lessons.heads import HEADS
from headlight.viz.lessons.lesson import Lesson
from headlight.viz.lessons.masks import MASKS_LESSON
from headlight.viz.lessons.mistakes import MISTAKES_LESSON
from headlight.viz.lessons.norms import NORMS_LESSON
from headlight.viz.lessons.positions import POSITIONS
from headlight.viz.lessons.train import TRAIN
from headlight.viz.lessons.walk import WALK

LESSONS: tuple[Lesson, ...] = (WALK, TRAIN, POSITIONS, HEADS, MASKS_LESSON, NORMS_LESSON, MISTAKES_LESSON, VERDICT)
