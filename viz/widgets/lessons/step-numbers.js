// The numbers of a step, as its formula and its words take them: by name, and as text.

import { formatSigned, argMax } from '../core/map-view.js';
import { numberTexts } from './labels.js';
import { vectorNorm, mean, rowOf, softmax, standardDeviation, sum } from './tensor-cache.js';

const LETTERS = ['a', 'b', 'c', 'd'];
const SHOWN = 2; // terms of a sum that are written out: as many as a line has room for
const FIRST = 3; // ids

/** Digits that suit a size: 0.4119, 23.634, 1940.8. */
export function formatNumber(number, digits = 4) {
  const size = Math.abs(number);
  return formatSigned(number, size >= 1000 ? Math.max(0, digits - 3) : size >= 10 ? Math.max(0, digits - 1) : digits);
}

const inBrackets = (number, digits) => (number < 0 ? `\\text{(}${formatNumber(number, digits)}\\text{)}` : formatNumber(number, digits));

/** All of them. Those that a step's tensors do not tell are absent. */
export function stepNumbers(scene) {
  const { model, look, translation } = scene;
  const found = {
    d_model: model.d_model,
    d_ff: model.d_ff,
    heads: model.heads,
    head_width: model.head_width,
    joined_width: model.heads * model.head_width,
    encoder_layers: translation.layers('encoder'),
    decoder_layers: translation.layers('decoder'),
    source_vocabulary: model.source_vocabulary.toLocaleString('en'),
    target_vocabulary: model.target_vocabulary.toLocaleString('en'),
    last_id: (model.source_vocabulary - 1).toLocaleString('en'),
    count: translation.source.length,
    place: look.token,
    dimension: look.dimension, // from 0, as in the formulas
    layer: scene.layer + 1,
    head: scene.head + 1,
    id: translation.source[look.token].id,
    embedding_scale: tidy(scene.number('embedding_scale')),
    divisor: tidy(scene.number('divisor')),
  };
  for (const [place, { id }] of translation.source.slice(0, FIRST).entries()) found[`id${place + 1}`] = id;
  for (const add of [ofShows, ofAttention, ofNeurons, ofStages, ofLogits]) Object.assign(found, add(scene));
  Object.assign(found, partsOf(model));
  if (scene.found) Object.assign(found, numberTexts(scene.step.lesson, scene.found.numbers));
  return Object.fromEntries(Object.entries(found).map(([name, value]) => [name, String(value)]));
}

const ACTIVATION_LABELS = { relu: 'ReLU', gelu: 'GELU', gelu_tanh: 'GELU', silu: 'SiLU', swiglu: 'SiLU', geglu: 'GELU', reglu: 'ReLU' };
const GATED = new Set(['swiglu', 'geglu', 'reglu']);

/** The parts of formulas that differ from model to model: biases, the bend of the feed-forward network, scales. */
export function partsOf(model) {
  const plus = (there, name) => (there ? `\\, + ${name}` : '\\,');
  const bias = (name) => plus(model.attention_bias, name);
  const wide = (letter) => `x W_${letter} ${plus(model.feed_forward_bias, `b_${letter}`)}`;
  const bent = (inside) =>
    model.activation === 'relu' ? `\\max(0, ${inside})` : `\\text{${ACTIVATION_LABELS[model.activation]}}(${inside})`;
  const hidden = GATED.has(model.activation) ? `(${bent(wide('g'))} \\cdot (${wide('1')}))` : bent(wide('1'));
  return {
    its_b_q: bias('b_Q'),
    its_b_k: bias('b_K'),
    its_b_v: bias('b_V'),
    its_b_o: bias('b_O'),
    its_hidden: hidden,
    its_b_2: plus(model.feed_forward_bias, 'b_2'),
    its_base: String(model.rotary_base),
    its_y: model.scale_output ? '\\frac{y}{\\sqrt{d}}' : '\\, y',
    its_c: plus(model.final_logits_bias, 'c_t'),
  };
}

const tidy = (number) => (Number.isInteger(number) ? number : formatNumber(number, 3));

/** Of stacked tensors, the numbers at the row and dimension in question, and what their rows are like. */
function ofShows(scene) {
  const found = {};
  const shows = scene.step.figures.filter(({ form }) => ['stack', 'heat'].includes(form)).flatMap((figure) => scene.visibleTensors(figure));
  for (const [place, show] of shows.slice(0, LETTERS.length).entries()) {
    if (['logits', 'stages'].includes(show.path)) continue;
    const letter = LETTERS[place];
    const matrix = scene.matrix(show);
    const row = rowOf(matrix, Math.min(scene.row, matrix.rows - 1));
    Object.assign(found, { [letter]: formatNumber(scene.value(show)), [`length_${letter}`]: formatNumber(vectorNorm(row), 3) });
    Object.assign(found, { [`mean_${letter}`]: formatNumber(mean(row), 3), [`spread_${letter}`]: formatNumber(standardDeviation(row), 3) });
  }
  return found;
}

/** Of an attention: one product taken apart, one row of softmax, one mixture. */
function ofAttention(scene) {
  const paths = scene.needs().map((path) => path.split('.').at(-1));
  const found = {};
  if (paths.includes('queries') && paths.includes('keys')) {
    const terms = scene.tensorByName('products').numbers;
    const [query, key] = [scene.tensorByName('query').numbers, scene.tensorByName('key').numbers];
    const said = Array.from(
      { length: Math.min(SHOWN, terms.length) },
      (_, i) => `${inBrackets(query[i], 2)} \\cdot ${inBrackets(key[i], 2)}`,
    );
    Object.assign(found, { products: said.join(' + '), raw: formatNumber(sum(terms), 3) });
    found.score = formatNumber(sum(terms) / scene.number('divisor'), 3);
  }
  if (!paths.includes('scores')) return found;
  const scores = rowOf(scene.serverTensor('scores'), scene.row);
  const allowed = scene.allowed(scene.row);
  const weights = softmax(scores, allowed);
  const best = argMax(weights);
  const total = sum(Array.from(scores, (each, place) => (!allowed || allowed[place] ? Math.exp(each) : 0)));
  Object.assign(found, {
    best_score: formatNumber(scores[best], 3),
    best_power: formatNumber(Math.exp(scores[best]), 3),
    total: formatNumber(total, 3),
  });
  Object.assign(found, {
    best_weight: formatNumber(weights[best]),
    best_key: scene.columns[best].label,
    row_sum: formatNumber(sum(weights)),
  });
  Object.assign(found, { keys: weights.length, allowed: allowed ? allowed.filter(Boolean).length : weights.length });
  found.hidden = found.keys - found.allowed;
  if (paths.includes('values')) {
    const values = scene.serverTensor('values');
    const dimension = Math.min(scene.look.dimension, values.columns - 1);
    const ranked = [...weights.keys()].sort((one, other) => weights[other] - weights[one]).slice(0, SHOWN);
    const terms = ranked.map(
      (place) => `${formatNumber(weights[place], 3)} \\cdot ${inBrackets(values.numbers[place * values.columns + dimension], 3)}`,
    );
    Object.assign(found, { mixing: terms.join(' + '), mixed: formatNumber(scene.tensorByName('mixture').numbers[dimension]) });
  }
  return found;
}

/** Of the feed-forward network: how many of its neurons say anything for the token. */
function ofNeurons(scene) {
  if (!scene.needs().some((path) => path.endsWith('feed_forward.hidden'))) return {};
  const hidden = rowOf(scene.tensorByName('feed_forward.hidden'), scene.row);
  const awake = hidden.reduce((count, each) => count + (each > 0 ? 1 : 0), 0);
  return { awake, awake_share: `${((100 * awake) / hidden.length).toFixed(1)} %` };
}

/** Norm of the token's vector before the first and after the last layer. */
function ofStages(scene) {
  if (!scene.step.figures.some(({ tensors }) => tensors.some(({ path }) => path === 'stages'))) return {};
  const stages = scene.tensorByName('stages');
  return {
    length_first: formatNumber(vectorNorm(rowOf(stages, 0)), 2),
    length_last: formatNumber(vectorNorm(rowOf(stages, stages.rows - 1)), 2),
  };
}

/** Of the logits: the best token's, and what makes probabilities of all. */
function ofLogits(scene) {
  if (!scene.brought.logits) return {};
  const { best, log_sum: logSum, mean: middle, spread: wide } = scene.logits;
  const [, id, logit] = best[0];
  const less = logit - logSum;
  return {
    best_id: id,
    best_logit: formatNumber(logit),
    log_sum: formatNumber(logSum),
    best_less: formatNumber(less),
    best_chance: formatNumber(Math.exp(less)),
    logit_mean: formatNumber(middle, 2),
    logit_spread: formatNumber(wide, 2),
  };
}
