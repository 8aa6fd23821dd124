// Source of a head view for maps under interventions. Removed heads have no map.

import { t } from '../core/i18n.js';
import { TranslationSource } from '../headview/translation-source.js';

/** The wall always has means, because a click on a mean changes a whole layer. Maxima cannot be changed, so it has none. */
export class ChangedSource extends TranslationSource {
  wallLayout(kind, displayOptions) {
    return super.wallLayout(kind, { ...displayOptions, averages: true }).map((row) => row.filter(({ head }) => head !== 'max'));
  }

  captionElements(view) {
    return view.weights.some((weight) => weight > 0) ? super.captionElements(view) : [t('whatif_off_says')];
  }
}
