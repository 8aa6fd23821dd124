// The numbers of a step as text, by name, for its formula and its phrases.

import { formatSigned, argMax } from '../core/map-view.js';
import { numberTexts } from './labels.js';
import { GATED } from './step-scene.js';
import { vectorNorm, mean, rowNumbers, softmax, standardDeviation, sum } from './tensor-cache.js';

const LETTERS = ['a', 'b', 'c', 'd'];
const MAX_TERMS = 2; // number of terms of a sum that fit on a line
const MAX_IDS = 3; // number of ids shown in the formula

/** Format a number; larger numbers have fewer decimals: 0.4119, 23.634, 1940.8. */
export function formatNumber(number, digits = 4) {
  const size = Math.abs(number);
  return formatSigned(number, size >= 1000 ? Math.max(0, digits - 3) : size >= 10 ? Math.max(0, digits - 1) : digits);
}

const inBrackets = (number, digits) => (number < 0 ? `\\text{(}${formatNumber(number, digits)}\\text{)}` : formatNumber(number, digits));

/** All numbers of a step whose tensors are available. */
export function stepNumbers(scene) {
  const { model, look, translation } = scene;
  const numbers = {
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
    embedding_scale: roundNumber(scene.number('embedding_scale')),
    embedding_root: rootText(scene.number('embedding_scale')),
    embedding_factor: factorText(scene.number('embedding_scale')),
    divisor: roundNumber(scene.number('divisor')),
  };
  for (const [index, { id }] of translation.source.slice(0, MAX_IDS).entries()) numbers[`id${index + 1}`] = id;
  for (const compute of [tensorNumbers, attentionNumbers, neuronNumbers, stageNumbers, logitNumbers])
    Object.assign(numbers, compute(scene));
  Object.assign(numbers, attentionParts(model));
  if (scene.result) Object.assign(numbers, numberTexts(scene.step.lesson, scene.result.numbers));
  return Object.fromEntries(Object.entries(numbers).map(([name, value]) => [name, String(value)]));
}

const ACTIVATION_LABELS = { relu: 'ReLU', gelu: 'GELU', gelu_tanh: 'GELU', silu: 'SiLU', swiglu: 'SiLU', geglu: 'GELU', reglu: 'ReLU' };

/** Parts of formulas that depend on the model: biases, the activation function, scales. */
export function attentionParts(model) {
  const plus = (isPresent, name) => (isPresent ? `\\, + ${name}` : '\\,');
  const bias = (name) => plus(model.attention_bias, name);
  const x = model.norm_first ? `\\text{${model.norm === 'rms' ? 'RMS' : 'LN'}}(x)` : 'x';
  const linear = (letter) => `${x} W_${letter} ${plus(model.feed_forward_bias, `b_${letter}`)}`;
  const activated = (argument) =>
    model.activation === 'relu' ? `\\max(0, ${argument})` : `\\text{${ACTIVATION_LABELS[model.activation]}}(${argument})`;
  const hidden = GATED.has(model.activation) ? `(${activated(linear('g'))} \\cdot (${linear('1')}))` : activated(linear('1'));
  return {
    its_x: x,
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

/** A square root as text: "= 16" or, rounded, "≈ 22.627". */
const rootText = (number) => `${Number.isInteger(number) ? '=' : '≈'} ${roundNumber(number)}`;
/** A factor with enough digits that its displayed product is correct to four: 16, 22.62742, 0.017573. */
const factorText = (number) => (Number.isInteger(number) ? number : formatNumber(number, 6));
const roundNumber = (number) => (Number.isInteger(number) ? number : formatNumber(number, 3));

/** Numbers of stacked tensors: the values at the selected row and dimension, and statistics of the row. */
function tensorNumbers(scene) {
  const numbers = {};
  const tensors = scene.step.figures
    .filter(({ form }) => ['stack', 'heat'].includes(form))
    .flatMap((figure) => scene.visibleTensors(figure));
  for (const [index, tensor] of tensors.slice(0, LETTERS.length).entries()) {
    if (['logits', 'stages'].includes(tensor.path)) continue;
    const letter = LETTERS[index];
    const matrix = scene.matrix(tensor);
    const row = rowNumbers(matrix, Math.min(scene.row, matrix.rows - 1));
    Object.assign(numbers, { [letter]: formatNumber(scene.value(tensor)), [`length_${letter}`]: formatNumber(vectorNorm(row), 3) });
    Object.assign(numbers, {
      [`mean_${letter}`]: formatNumber(mean(row)),
      [`mean_${letter}_term`]: inBrackets(mean(row), 4),
      [`spread_${letter}`]: formatNumber(standardDeviation(row)),
      [`rms_${letter}`]: formatNumber(vectorNorm(row) / Math.sqrt(row.length)),
      [`${letter}_factor`]: inBrackets(scene.value(tensor), 6),
      [`${letter}_term`]: inBrackets(scene.value(tensor), 4),
      [`hat_${letter}`]: formatNumber((scene.value(tensor) - mean(row)) / (standardDeviation(row) || 1)),
    });
  }
  return numbers;
}

/** Numbers of attention: the terms of one dot product, one softmax row and one weighted sum of values. */
function attentionNumbers(scene) {
  const paths = scene.requiredPaths().map((path) => path.split('.').at(-1));
  const numbers = {};
  if (paths.includes('queries') && paths.includes('keys')) {
    const terms = scene.tensorByName('products').numbers;
    const [query, key] = [scene.tensorByName('query').numbers, scene.tensorByName('key').numbers];
    const products = Array.from(
      { length: Math.min(MAX_TERMS, terms.length) },
      (_, index) => `${inBrackets(query[index], 2)} \\cdot ${inBrackets(key[index], 2)}`,
    );
    Object.assign(numbers, { products: products.join(' + '), raw: formatNumber(sum(terms), 3) });
    numbers.score = formatNumber(sum(terms) / scene.number('divisor'), 3);
  }
  if (!paths.includes('scores')) return numbers;
  const scores = rowNumbers(scene.serverTensor('scores'), scene.row);
  const allowed = scene.allowed(scene.row);
  const weights = softmax(scores, allowed);
  const best = argMax(weights);
  const total = sum(Array.from(scores, (score, index) => (!allowed || allowed[index] ? Math.exp(score) : 0)));
  Object.assign(numbers, {
    best_score: formatNumber(scores[best], 3),
    best_power: formatNumber(Math.exp(scores[best]), 3),
    total: formatNumber(total, 3),
  });
  Object.assign(numbers, {
    best_weight: formatNumber(weights[best]),
    best_key: scene.columns[best].label,
    row_sum: formatNumber(sum(weights)),
  });
  Object.assign(numbers, { keys: weights.length, allowed: allowed ? allowed.filter(Boolean).length : weights.length });
  numbers.hidden = numbers.keys - numbers.allowed;
  if (scene.kind === 'decoder') numbers.later_sum = formatNumber(sum(weights.slice(scene.row + 1)));
  if (paths.includes('values')) {
    const values = scene.serverTensor('values');
    const dimension = Math.min(scene.look.dimension, values.columns - 1);
    const ranked = [...weights.keys()].sort((a, b) => weights[b] - weights[a]).slice(0, MAX_TERMS);
    const terms = ranked.map(
      (index) => `${formatNumber(weights[index], 3)} \\cdot ${inBrackets(values.numbers[index * values.columns + dimension], 3)}`,
    );
    Object.assign(numbers, { mixing: terms.join(' + '), mixed: formatNumber(scene.tensorByName('mixture').numbers[dimension]) });
  }
  return numbers;
}

/** Feed-forward network: number and share of the active neurons. */
function neuronNumbers(scene) {
  if (!scene.requiredPaths().some((path) => path.endsWith('feed_forward.hidden'))) return {};
  const hidden = rowNumbers(scene.tensorByName('feed_forward.hidden'), scene.row);
  const active = hidden.reduce((count, value) => count + (value > 0 ? 1 : 0), 0);
  return { awake: active, awake_share: `${((100 * active) / hidden.length).toFixed(1)} %` };
}

/** Norm of the token's vector before the first and after the last layer. */
function stageNumbers(scene) {
  if (!scene.step.figures.some(({ tensors }) => tensors.some(({ path }) => path === 'stages'))) return {};
  const stages = scene.tensorByName('stages');
  return {
    length_first: formatNumber(vectorNorm(rowNumbers(stages, 0)), 2),
    length_last: formatNumber(vectorNorm(rowNumbers(stages, stages.rows - 1)), 2),
  };
}

/** Numbers of the logits: the target token's, the log-sum-exp and statistics of all logits. */
export function logitNumbers(scene) {
  if (!scene.sentenceTensors.logits) return {};
  const { best, log_sum: logSum, mean: logitMean, spread } = scene.logits;
  const token = scene.translation.target[scene.look.written];
  const logit = best.find(([, id]) => id === token.id)?.[2] ?? logSum + Math.log(token.probability);
  const logProbability = logit - logSum;
  return {
    written_id: token.id,
    written_logit: formatNumber(logit),
    log_sum: formatNumber(logSum),
    written_less: formatNumber(logProbability),
    written_chance: formatNumber(Math.exp(logProbability)),
    logit_mean: formatNumber(logitMean, 2),
    logit_spread: formatNumber(spread, 2),
  };
}
