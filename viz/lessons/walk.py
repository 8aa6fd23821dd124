"""Lesson "Walk": all operations of the model on one sentence, from its tokens to the next word."""

from __future__ import annotations

from headlight.model.core.attention import MultiHeadAttention, attention_scores, masked_softmax, weighted_sum
from headlight.model.core.blocks import Embedding, FeedForward, OutputProjection, Residual
from headlight.model.core.masks import causal_mask
from headlight.model.core.positions import AddedPositions
from headlight.model.core.transformer import DecoderLayer, run_layers
from headlight.model.text.tokenizer import Tokenizer
from headlight.model.translate.capture import score_target
from headlight.viz.lessons.lesson import (
    Code,
    Figure,
    FormulaVariant,
    Lesson,
    PickTarget,
    Product,
    QuestionSpec,
    Step,
    TensorView,
)

EMBEDDED, POSITIONED = "encoder.embedding.embedded", "encoder.embedding.positioned"
SCALED_NUMBERS = r"\frac{@raw}{\sqrt{@head_width}} = \frac{@raw}{@divisor} = @score"
HEAD_PICKS: tuple[PickTarget, ...] = ("layer", "head", "token")

CROSS_NUMBERS = (r"\max_j w_j = @best_weight", r"\sum_j w_j = @row_sum")

STEPS = (
    Step(
        "tokens",
        node="e.tokens",
        code=Code(Tokenizer.encode, "self._tokenizer.encode("),
        figures=(Figure("tokens"),),
        formula=r"x = [\,@id1, @id2, @id3, \ldots\,]",
        numbers=(r"@count \times \text{id}, \quad 0 \le \text{id} \le @last_id",),
        question=QuestionSpec("count", options=("counts",)),
        claims=("ids_within_vocabulary", "ends_with_end"),
    ),
    Step(
        "embed",
        node="e.embed",
        code=Code(Embedding.forward, "self.table(ids) * self.scale"),
        figures=(
            Figure(
                "stack",
                (
                    TensorView("table", EMBEDDED, divide_by="embedding_scale"),
                    TensorView("embedded", EMBEDDED, visible_if="enlarged"),
                ),
                signs=("×√d",),
            ),
        ),
        formula=r"x = \sqrt{d} \cdot E[\text{id}]",
        numbers=(r"@embedding_factor \cdot @a_factor = @b", r"|E[@id]| = @length_a \to @length_b"),
        formula_variants=(FormulaVariant(("plain",), r"x = E[\text{id}]", (r"|E[@id]| = @length_a",)),),
        picks=("token", "dimension"),
        claims=("embedding_is_scaled",),
    ),
    Step(
        "positions",
        node="e.positions",
        code=Code(AddedPositions.forward, "return embedded + rows"),
        figures=(
            Figure(
                "stack",
                (
                    TensorView("word", EMBEDDED),
                    TensorView(
                        "position",
                        POSITIONED,
                        subtract=EMBEDDED,
                        rows="positions",
                        visible_if="summed",
                        own_scale=True,  # positions are at most 1, embeddings up to 9
                    ),
                    TensorView("word_and_position", POSITIONED),
                ),
                signs=("+", "="),
            ),
        ),
        formula=r"PE(p, 2i) = \sin \frac{p}{10000^{2i/d}} \\ PE(p, 2i + 1) = \cos \frac{p}{10000^{2i/d}}",
        numbers=(r"p = @place, \quad @a + @b_term = @c",),
        formula_variants=(
            FormulaVariant(("beside",), r"x = [\,E[\text{id}],\, PE(p)\,]", (r"p = @place",)),
            FormulaVariant(
                ("sinusoidal_halves", "closed"),
                r"PE(p, i) = \sin \frac{p}{10000^{i/(d/2 - 1)}} \\ PE(p, d/2 + i) = \cos \frac{p}{10000^{i/(d/2 - 1)}}",
                (r"p = @place, \quad @a + @b_term = @c",),
            ),
            FormulaVariant(
                ("sinusoidal", "closed"),
                r"PE(p, i) = \sin \frac{p}{10000^{i/(d/2 - 1)}} \\ PE(p, d/2 + i) = \cos \frac{p}{10000^{i/(d/2 - 1)}}",
                (r"p = @place, \quad @a + @b_term = @c",),
            ),
            FormulaVariant(
                ("sinusoidal_halves",),
                r"PE(p, i) = \sin \frac{p}{10000^{2i/d}} \\ PE(p, d/2 + i) = \cos \frac{p}{10000^{2i/d}}",
                (r"p = @place, \quad @a + @b_term = @c",),
            ),
            FormulaVariant(("learned",), r"x \leftarrow x + P[p]", (r"p = @place, \quad @a + @b_term = @c",)),
            FormulaVariant(("rotary",), r"\theta_i = \frac{p}{@its_base^{2i/d_k}}", (r"p = @place",)),
            FormulaVariant(("alibi",), r"s_{ij} \leftarrow s_{ij} - m \cdot |i - j|"),
            FormulaVariant(("relative",), r"s_{ij} \leftarrow s_{ij} + b_{j - i}"),
            FormulaVariant(("none",), ""),
        ),
        picks=("token", "dimension"),
        claims=("positions_add_up", "positions_are_waves"),
    ),
    Step(
        "norm",
        node="e.norm",
        code=Code(Residual.forward, "sublayer(self.norm(x))", ("post", "return self.stream(self.norm(self.carried(x)")),
        figures=(
            Figure(
                "stack",
                (
                    TensorView("before_norm", "around_attention.carried", visible_if="pre"),
                    TensorView("before_norm", "around_attention.carried", add="attended", visible_if="post"),
                    TensorView("normed", "around_attention.normed"),
                ),
                signs=("norm",),
            ),
            Figure(
                "stack",
                (
                    TensorView("gamma", "around_attention.gamma", rows="one"),
                    TensorView("beta", "around_attention.beta", rows="one", visible_if="layer"),
                ),
            ),
        ),
        formula=r"\text{LN}(x) = \gamma \cdot \frac{x - \mu}{\sqrt{\sigma^2 + \epsilon}} + \beta",
        numbers=(
            r"\mu = @mean_a, \quad \sigma = @spread_a",
            r"\frac{@a - @mean_a_term}{@spread_a} = @hat_a",
            r"@hat_a \cdot @c + @d_term = @b",
        ),
        formula_variants=(
            FormulaVariant(
                ("rms",),
                r"\text{RMS}(x) = \gamma \cdot \frac{x}{\sqrt{\frac{1}{d} \sum_i x_i^2 + \epsilon}}",
                (r"\frac{@a}{@rms_a} \cdot @c = @b",),
            ),
        ),
        picks=("layer", "token", "dimension"),
        moved=("post", "add"),
        claims=("norm_by_hand",),
    ),
    Step(
        "qkv",
        node="e.qkv",
        code=Code(MultiHeadAttention.project_qkv, "return self.split"),
        figures=(
            Figure(
                "stack", (TensorView("queries", "queries"), TensorView("keys", "keys"), TensorView("values", "values"))
            ),
        ),
        products=(
            Product("q", "attention_input", "self_attention.query", "queries"),
            Product("k", "attention_input", "self_attention.key", "keys"),
            Product("v", "attention_input", "self_attention.value", "values"),
        ),
        formula=r"q = @its_x W_Q @its_b_q \\ k = @its_x W_K @its_b_k \\ v = @its_x W_V @its_b_v",
        numbers=(r"q_{@dimension} = @a", r"k_{@dimension} = @b", r"v_{@dimension} = @c"),
        picks=(*HEAD_PICKS, "dimension"),
        claims=("heads_split_the_width", "queries_by_hand"),
    ),
    Step(
        "scores",
        node="e.scores",
        code=Code(attention_scores, "@ key.to(wide)"),
        figures=(
            Figure("heat", (TensorView("raw", "raw"),), square=True),
            Figure(
                "strip", (TensorView("query", "query"), TensorView("key", "key"), TensorView("products", "products"))
            ),
        ),
        formula=r"q \cdot k = \sum_i q_i k_i",
        numbers=(r"@products + \ldots", r"= @raw"),
        picks=(*HEAD_PICKS, "key"),
        concerns=("token", "key"),
        claims=("products_add_up",),
    ),
    Step(
        "scale",
        node="e.scale",
        code=Code(attention_scores, "query.to(wide) * scale"),
        figures=(Figure("pair", (TensorView("raw", "raw"), TensorView("scaled", "scaled")), square=True),),
        formula=r"s = \frac{q \cdot k}{\sqrt{d_k}}",
        numbers=(SCALED_NUMBERS,),
        formula_variants=(
            FormulaVariant(("unscaled", "biased"), r"s = q \cdot k + b", (r"q \cdot k = @raw",)),
            FormulaVariant(("unscaled",), r"s = q \cdot k", (r"s = @raw",)),
            FormulaVariant(("biased",), r"s = \frac{q \cdot k}{\sqrt{d_k}} + b", (SCALED_NUMBERS,)),
        ),
        picks=(*HEAD_PICKS, "key"),
        concerns=("token", "key"),
        question=QuestionSpec("unscaled", options=("larger", "smaller", "same"), hides_answer=False),
        claims=("scaled_is_divided",),
    ),
    Step(
        "softmax",
        node="e.softmax",
        code=Code(masked_softmax, "return scores.softmax"),
        figures=(Figure("table", (TensorView("scores", "scores", rows="keys"),), scale="share"),),
        formula=r"w_j = \frac{e^{s_j}}{\sum_k e^{s_k}}",
        numbers=(
            r"s = @best_score",
            r"e^{@best_score} = @best_power",
            r"\sum = @best_power + \ldots = @total",
            r"\frac{@best_power}{@total} = @best_weight",
        ),
        parts=("scores", "powers", "sum", "divide"),
        picks=HEAD_PICKS,
        concerns=("token", "best_key"),
        question=QuestionSpec("shifted", options=("grow", "nothing", "even"), hides_answer=False),
        claims=("weights_sum_to_one", "hand_softmax_is_the_models", "shift_changes_nothing"),
    ),
    Step(
        "mix",
        node="e.mix",
        code=Code(weighted_sum, "@ value"),
        figures=(
            Figure(
                "stack",
                (
                    TensorView("head_values", "values", rows="keys"),
                    TensorView("weighted", "weighted", rows="keys"),
                    TensorView("mixture", "mixture", rows="one"),
                ),
                signs=("×w", "="),
            ),
        ),
        formula=r"z = \sum_j w_j v_j",
        numbers=(r"@mixing + \ldots", r"= @mixed"),
        picks=(*HEAD_PICKS, "dimension"),
        claims=("mixture_adds_up",),
    ),
    Step(
        "join",
        node="e.join",
        code=Code(MultiHeadAttention.join_heads, "self.output(self.merge_heads("),
        figures=(
            Figure("heat", (TensorView("joined", "joined"),), heads=True),
            Figure("heat", (TensorView("attended", "attended"),)),
        ),
        products=(Product("o", "joined", "self_attention.output", "attended"),),
        formula=r"a = [z_1, \ldots, z_{@heads}]\, W_O @its_b_o",
        numbers=(r"@heads \cdot @head_width = @joined_width \to @d_model", r"a_{@dimension} = @b"),
        picks=("layer", "token", "dimension"),
        claims=("heads_fill_the_vector", "attended_is_added", "joined_heads_by_hand"),
    ),
    Step(
        "add",
        node="e.add",
        code=Code(Residual.forward, "sublayer(self.norm(x))", ("post", "return self.stream(self.norm(self.carried(x)")),
        figures=(
            Figure(
                "stack",
                (
                    TensorView("carried", "around_attention.carried"),
                    TensorView("found", "attended"),
                    TensorView("sum", "around_attention.carried", add="attended"),
                ),
                signs=("+", "="),
            ),
        ),
        formula=r"x \leftarrow x + a",
        numbers=(r"@a + @b_term = @c",),
        picks=("layer", "token", "dimension"),
        claims=("attended_is_added", "norm_centres"),
    ),
    Step(
        "ff",
        node="e.ff",
        code=Code(FeedForward.forward, "self.narrow("),
        figures=(
            Figure("heat", (TensorView("hidden", "feed_forward.hidden"),), scale="positive"),
            Figure("heat", (TensorView("feed_forward", "feed_forward.output"),)),
        ),
        products=(
            Product("g", "feed_forward_input", "feed_forward.gate", visible_if="gated"),
            Product("1", "feed_forward_input", "feed_forward.wide", "feed_forward.hidden"),
            Product("2", "feed_forward.hidden", "feed_forward.narrow", "feed_forward.output"),
        ),
        formula=r"@its_hidden \, W_2 @its_b_2",
        numbers=(r"\frac{@awake}{@d_ff} = @awake_share",),
        picks=("layer", "token", "dimension"),
        question=QuestionSpec("awake", options=("most", "some", "few")),
        claims=("relu_is_never_negative", "feed_forward_is_added", "feed_forward_by_hand"),
    ),
    Step(
        "memory",
        node="e.memory",
        code=Code(run_layers, "x = layer(x, mask, bias, positions)"),
        figures=(
            Figure("heat", (TensorView("stages", "stages", rows="stages"),)),
            Figure("heat", (TensorView("memory", "encoder.memory"),)),
        ),
        formula=r"x^{(l)} = \text{layer}_l (x^{(l-1)})",
        numbers=(r"|x^{(0)}| = @length_first, \quad |x^{(@encoder_layers)}| = @length_last",),
        picks=("token",),
        claims=("memory_is_one_vector_a_token",),
    ),
    Step(
        "mask",
        node="d.mask",
        kind="decoder",
        code=Code(causal_mask, ".tril("),
        figures=(
            Figure("heat", (TensorView("weights", "weights"),), scale="share", square=True, masked=True),
            Figure("shift"),
        ),
        formula=r"s_{ij} = -\infty \quad (j > i)",
        numbers=(r"@allowed + @hidden = @keys", r"\sum_j w_{ij} = @row_sum"),
        formula_variants=(
            FormulaVariant(
                ("unmasked",),
                r"w_{ij} > 0 \quad (j > i)",
                (r"@allowed + @hidden = @keys", r"\sum_{j > i} w_{ij} = @later_sum"),
            ),
        ),
        parts=("with", "without"),
        picks=("layer", "head", "written"),
        question=QuestionSpec("later", options=("upper", "lower", "diagonal")),
        claims=("later_keys_get_nothing", "causal_rows_sum_to_one", "loss_is_the_mean_of_all_places"),
    ),
    Step(
        "cross",
        node="d.cross",
        kind="cross",
        code=Code(DecoderLayer.forward, "self.cross_attention(y, source"),
        figures=(Figure("heat", (TensorView("weights", "weights"),), scale="share", square=True),),
        formula=r"\text{softmax}\left(\frac{q K^T}{\sqrt{d_k}}\right) V",
        numbers=CROSS_NUMBERS,
        formula_variants=(FormulaVariant(("unscaled",), r"\text{softmax}\left(q K^T\right) V", CROSS_NUMBERS),),
        picks=("layer", "head", "written"),
        concerns=("written", "best_key"),
        question=QuestionSpec("strongest", options=("keys",)),
        claims=("cross_rows_sum_to_one",),
    ),
    Step(
        "logits",
        node="d.logits",
        kind="cross",
        code=Code(OutputProjection.forward, "self.logits(self.words("),
        figures=(Figure("histogram", (TensorView("logits", "logits"),)),),
        products=(Product("e", "decoder.final", "decoder.output.words", column="written"),),
        formula=r"\text{logit}_t = @its_y \cdot E[t] @its_c",
        numbers=(r"\text{logit}_{@written_id} = @written_logit", r"\mu = @logit_mean, \quad \sigma = @logit_spread"),
        picks=("written",),
        claims=("logits_are_no_probabilities", "logits_by_hand"),
    ),
    Step(
        "next",
        node="d.next",
        kind="cross",
        code=Code(score_target, "log_softmax"),
        figures=(Figure("bars", (TensorView("candidates", "logits"),), scale="share"),),
        formula=r"p_t = \frac{e^{\text{logit}_t}}{\sum_u e^{\text{logit}_u}}",
        numbers=(r"\frac{e^{@written_logit}}{e^{@log_sum}} = e^{@written_less} = @written_chance",),
        picks=("written",),
        question=QuestionSpec("next", options=("candidates",)),
        claims=("chances_are_the_translations",),
    ),
)

WALK = Lesson("walk", minutes=10, picture=(TensorView("queries", "queries"),), steps=STEPS, drawing=True)
