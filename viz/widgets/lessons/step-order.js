// The order of a lesson's steps, which may depend on the model: a step with `moved` follows another one in some models.

/**
 * @param {any[]} steps
 * @param {boolean} normFirst whether the model normalises before each sub-layer
 */
export function orderSteps(steps, normFirst) {
  const variant = normFirst ? 'pre' : 'post';
  const ordered = steps.filter(({ moved }) => moved?.[0] !== variant);
  for (const step of steps.filter(({ moved }) => moved?.[0] === variant)) {
    ordered.splice(ordered.findIndex(({ name }) => name === step.moved[1]) + 1, 0, step);
  }
  return ordered;
}

/** The order of steps for each model. Until the model is known, its norm is assumed to be first. */
export class StepOrder {
  constructor() {
    /** @type {Map<string, boolean>} */
    this.normFirst = new Map(); // by model name
  }

  isNormFirst(translation) {
    return this.normFirst.get(translation?.model.name ?? '') ?? true;
  }

  steps({ steps }, translation) {
    return orderSteps(steps, this.isNormFirst(translation));
  }

  /** Store the model of a translation. Returns whether the order changes. */
  storeModel(translation, model) {
    if (!model) return false;
    const before = this.isNormFirst(translation);
    this.normFirst.set(translation.model.name, model.norm_first);
    return before !== model.norm_first;
  }
}
