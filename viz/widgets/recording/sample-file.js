// A sample of an attention file: the encoder's weights for the current sentence, named as `transformers` names them.

const PRECISION = 1e6; // weights have six decimals, so that a row's sum stays within the tolerance of parse-file.js

/** @param {import('../core/translation.js').Translation} translation */
export function sampleFile(translation) {
  const numbers = (count) => [...Array(count).keys()];
  const [layers, heads] = [numbers(translation.layers('encoder')), numbers(translation.heads('encoder'))];
  const attentions = layers.map((layer) => heads.map((head) => mapRows(translation.map('encoder', layer, head)))); // [layer][head][query][key]
  const content = JSON.stringify({ tokens: translation.source.map(({ full, label }) => full ?? label), attentions });
  return new File([content], 'sample.json', { type: 'application/json' });
}

function mapRows({ weights, rows, columns }) {
  const row = (number) => [...weights.subarray(number * columns, (number + 1) * columns)];
  return Array.from({ length: rows }, (_, number) => row(number).map((weight) => Math.round(weight * PRECISION) / PRECISION));
}
