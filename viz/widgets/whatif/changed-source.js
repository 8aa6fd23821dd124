// Source of a head view for maps under interventions.

import { t } from '../core/i18n.js';
import { TranslationSource } from '../headview/translation-source.js';

/** Its wall always has means, because a click on one changes a whole layer. Removed heads have no map. */
export class ChangedSource extends TranslationSource {
  wallLayout(kind, displayOptions) {
    return super.wallLayout(kind, { ...displayOptions, averages: true }).map((row) => row.filter(({ head }) => head !== 'max'));
  }

  captionElements(view) {
    return view.weights.some((weight) => weight > 0) ? super.captionElements(view) : [t('whatif_off_says')];
  }
}
