"""The fourteen parts of the lesson "Build it yourself", with their code and the trained variants of the model."""

from __future__ import annotations

from dataclasses import dataclass

Listing = tuple[tuple[str, str], ...]  # lines and shapes; `{part}` stands for the line that completes that part

WORDS: Listing = (
    ("ids = torch.tensor([0, 1, 5, 4, 3, 2])", "6"),
    ("E = nn.Parameter(torch.randn(8, 4))", "8×4"),
    ("x = {words}", "6×4"),
)
ATTENTION: Listing = (
    ("def attention(x, W_q, W_k, W_v):", "6×4"),
    ("    q, k, v = {qkv}", "6×2"),
    ("    s = {scores}", "6×6"),
    ("    s = {scale}", "6×6"),
    ("    a = {softmax}", "6×6"),
    ("    return {mix}", "6×2"),
)
TWO_HEADS: Listing = (
    ("def two_heads(x):", "6×4"),
    ("    a = attention(x, *head_1)", "6×2"),
    ("    b = attention(x, *head_2)", "6×2"),
    ("    both = {heads}", "6×4"),
    ("    return both @ W_o", "6×4"),
)
ENCODER: Listing = (
    ("def encoder(ids):", "6"),
    ("    x = E[ids]", "6×4"),
    ("    x = {positions}", "6×4"),
    ("    a = two_heads(x)", "6×4"),
    ("    x = {residual}", "6×4"),
    ("    x = norm(x)", "6×4"),
    ("    h = {network}", "6×8"),
    ("    return norm(x + h @ W_2)", "6×4"),
)
NORM: Listing = (
    ("def norm(x):", "6×4"),
    ("    m = x.mean(-1, keepdim=True)", "6×1"),
    ("    v = x.var(-1, keepdim=True,", ""),
    ("              unbiased=False)", "6×1"),
    ("    return (x - m) / {norm}", "6×4"),
)
MASKED: Listing = (
    ("def masked(y, W_q, W_k, W_v):", "7×4"),
    ("    q, k, v = y@W_q, y@W_k, y@W_v", "7×2"),
    ("    s = q @ k.transpose(-2, -1)", "7×7"),
    ("    s = s / math.sqrt(2)", "7×7"),
    ("    late = torch.ones(7, 7).triu(1).bool()", ""),
    ("    a = {mask}", ""),
    ("    return a @ v", "7×2"),
)
CROSS: Listing = (
    ("def cross(y, memory):", "7×4, 6×4"),
    ("    q = {q} @ W_q", "7×2"),
    ("    k = {k} @ W_k", "6×2"),
    ("    v = {v} @ W_v", "6×2"),
    ("    s = q @ k.transpose(-2, -1)", "7×6"),
    ("    a = (s / math.sqrt(2)).softmax(-1)", "7×6"),
    ("    return y + a @ v @ W_o", "7×4"),
)
NEXT: Listing = (
    ("logits = y @ W_out", "5×10"),
    ("p = logits.softmax(-1)", "5×10"),
    ("word = {next}", "1"),
)


@dataclass(frozen=True)
class BuildPart:
    """One part of the lesson."""

    name: str
    listing: Listing
    stage: str  # trained variant with all parts up to this one
    large: str  # permalink of the same operation in the visitor's model
    without: str = ""  # trained variant without this part


BUILD_PARTS = (
    BuildPart("words", WORDS, "average", "walk.embed"),
    BuildPart("qkv", ATTENTION, "average", "walk.qkv"),
    BuildPart("scores", ATTENTION, "average", "walk.scores"),
    BuildPart("scale", ATTENTION, "average", "walk.scale", "without_scale"),
    BuildPart("softmax", ATTENTION, "average", "walk.softmax", "softmax_over_queries"),
    BuildPart("mix", ATTENTION, "scale", "walk.mix", "without_attention"),
    BuildPart("heads", TWO_HEADS, "two_heads", "walk.join", "without_two_heads"),
    BuildPart("positions", ENCODER, "positions", "walk.positions", "without_positions"),
    BuildPart("residual", ENCODER, "residual", "walk.add", "without_residual"),
    BuildPart("norm", NORM, "norm", "walk.norm", "without_norm"),
    BuildPart("network", ENCODER, "network", "walk.ff", "without_network"),
    BuildPart("mask", MASKED, "mask", "walk.mask", "without_mask"),
    BuildPart("cross", CROSS, "cross", "walk.cross", "without_cross"),
    BuildPart("next", NEXT, "cross", "walk.next"),
)
