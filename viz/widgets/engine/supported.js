/** Settings of `config.json` that this engine supports. */
const SUPPORTED = {
  positions: 'sinusoidal',
  position_width: 0,
  norm: 'layer',
  activation: 'relu',
  head_width: null,
  scale_output: false,
  final_logits_bias: false,
  embedding_norm: false,
};

/** The name of the first setting of a model that the engine lacks, or an empty text. */
export function unsupportedSetting(config) {
  const isMissing = ([name, value]) => (config[name] ?? value) !== value;
  return Object.entries(SUPPORTED).find(isMissing)?.[0] ?? '';
}
