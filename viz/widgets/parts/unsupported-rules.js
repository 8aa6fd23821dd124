// Note on generation settings that Headlight does not support.

import { t } from '../core/i18n.js';

/** Of the model that answered; nothing where all of its rules are applied. */
export function unsupportedText(model) {
  const rules = model?.left_out ?? [];
  return rules.length ? t('model_left_out', { rules: rules.join('; ') }) : '';
}
