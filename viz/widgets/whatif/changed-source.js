// Source of the maps under interventions.

import { t } from '../core/i18n.js';
import { TranslationSource } from '../headview/translation-source.js';

/** Heads that are off have no map. Means are always included, because a click on one changes a whole layer. */
export class ChangedSource extends TranslationSource {
  wallLayout(kind, displayOptions) {
    return super.wallLayout(kind, { ...displayOptions, averages: true }).map((row) => row.filter(({ head }) => head !== 'max'));
  }

  captionElements(view) {
    return view.weights.some((weight) => weight > 0) ? super.captionElements(view) : [t('whatif_off_says')];
  }
}
