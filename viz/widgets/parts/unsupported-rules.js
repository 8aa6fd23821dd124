// Note on generation settings that Headlight does not support.

import { t } from '../core/i18n.js';

/** The note for a model, or empty if all of its settings are supported. */
export function formatUnsupported(model) {
  const rules = model?.left_out ?? [];
  return rules.length ? t('model_left_out', { rules: rules.join('; ') }) : '';
}
