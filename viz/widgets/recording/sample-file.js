// A sample of an attention file: the encoder's weights for the current sentence, named as `transformers` names them.

const PRECISION = 1e6; // weights have six decimals, so that a row's sum stays within the tolerance of parse-file.js

/** @param {import('../core/translation.js').Translation} translation */
export function makeSampleFile(translation) {
  const range = (count) => [...Array(count).keys()];
  const [layers, heads] = [range(translation.layers('encoder')), range(translation.heads('encoder'))];
  const attentions = layers.map((layer) => heads.map((head) => roundRows(translation.map('encoder', layer, head)))); // [layer][head][query][key]
  const content = JSON.stringify({ tokens: translation.source.map(({ full, label }) => full ?? label), attentions });
  return new File([content], 'sample.json', { type: 'application/json' });
}

/** The rows of a map, each a list of rounded weights. */
function roundRows({ weights, rows, columns }) {
  const getRow = (row) => [...weights.subarray(row * columns, (row + 1) * columns)];
  return Array.from({ length: rows }, (_, row) => getRow(row).map((weight) => Math.round(weight * PRECISION) / PRECISION));
}
