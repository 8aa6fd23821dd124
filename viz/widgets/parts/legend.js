// Legend of the colours, or the threshold slider in the lines view.

import { fillElements, make, replace } from '../core/dom.js';
import { STRONG_EFFECT } from '../core/effect-scale.js';
import { cssColour, scaleColour, colourTable } from '../core/theme.js';
import { twoDecimals } from '../core/map-view.js';
import { state as pageState } from '../core/state.js';
import { t } from '../core/i18n.js';
import { headName } from './head-names.js';

/** Mounts the legend of a store's map; returns its render function. */
export function mountLegend(element, { state, set }) {
  element.classList.add('legend');
  const slider = make('input', { type: 'range', min: 0, max: 0.5, step: 0.01 });
  const thresholdText = make('span', { class: 'numeric' });
  const sliderName = make('span', {});
  const thresholdLabel = make('label', { class: 'sample' }, sliderName, slider, thresholdText);
  slider.addEventListener('input', () => set({ threshold: Number(slider.value) }));

  let key = ''; // identifies the displayed colours, so that they are redrawn only if another head has different ones

  return function draw(view, otherView) {
    const { theme, language } = pageState;
    const effects = Boolean(view.effects) && [view.kind, Boolean(view.rivals), view.subject];
    const colours = JSON.stringify([state.scale, state.palette, theme, language, Boolean(otherView), Boolean(view.masked), effects]);
    const showsColours = !['numbers', 'lines'].includes(state.view);
    if (showsColours && colours === key) return element;
    key = showsColours ? colours : '';
    if (state.view === 'numbers') return replace(element);
    if (state.view === 'lines') {
      sliderName.textContent = t('weakest_line');
      slider.value = state.threshold;
      thresholdText.textContent = twoDecimals(state.threshold);
      const names = otherView
        ? [
            ['first', otherView],
            ['second', view],
          ]
        : [];
      if (element.firstChild !== thresholdLabel) replace(element, thresholdLabel);
      while (element.childNodes.length > 1) element.lastChild.remove();
      element.append(...names.map(([name, { layer, head }]) => sample(make('i', { class: `fill ${name}` }), headName(layer, head))));
      return element;
    }
    if (view.effects) return replace(element, ...makeEffectLegend(view), otherView ? makeDifferenceLegend(STRONG_EFFECT) : null);
    return replace(element, ...makeColourLegend(view, state), otherView ? makeDifferenceLegend() : null);
  };
}

export function makeColourLegend(view, { scale, palette }) {
  const low = scale === 'log' ? '≤ 0.001' : '0';
  const high = scale === 'row' ? t('maximum_short') : '1';
  const zero = make('i', { class: 'zero', style: `background-color:${cssColour(scaleColour(palette, 0))}` });
  const masked = view.masked ? [sample(make('i', { class: 'hatch' }), t('cannot_look'))] : [];
  return [makeColourRamp(palette, low, high), sample(zero, t('zero')), ...masked];
}

function makeEffectLegend({ kind, rivals, subject }) {
  const ramp = makeColourRamp('difference', `${t('effect_against')} −${STRONG_EFFECT}`, `+${STRONG_EFFECT} ${t('effect_for')}`);
  const unit = subject ? 'word' : kind === 'encoder' ? 'sentence' : 'row';
  const names = Object.fromEntries(Object.entries(subject ?? {}).map(([name, label]) => [name, make('bdi', {}, label)]));
  return [ramp, make('span', { class: 'quiet' }, ...fillElements(t(`effect_unit_${unit}${rivals ? '_lead' : ''}`), names))];
}

export const makeDifferenceLegend = (limit = 1) =>
  makeColourRamp('difference', `−${limit} ${t('more_in_b')}`, `${t('more_in_a')} +${limit}`);

const sample = (mark, text) => make('span', { class: 'sample' }, mark, text);

/** A colour ramp between its end texts. `stretch`: range of the numbers relative to the colour scale, at whose ends colours saturate. */
export function makeColourRamp(name, low, high, stretch = 1) {
  const canvas = make('canvas', { width: 256, height: 1, 'aria-hidden': 'true' });
  const context = canvas.getContext('2d');
  const picture = context.createImageData(256, 1);
  const colours = colourTable(name);
  for (let level = 0; level < 256; level++) {
    const middle = name === 'difference' ? 127.5 : 0;
    const colour = Math.max(0, Math.min(255, Math.round(middle + (level - middle) * stretch)));
    picture.data.set(colours.subarray(colour * 3, colour * 3 + 3), level * 4);
    picture.data[level * 4 + 3] = 255;
  }
  context.putImageData(picture, 0, 0);
  return make('span', { class: 'ramp numeric' }, low, canvas, high);
}
