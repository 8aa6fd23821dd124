// A picture of the whole model with a socket for each part. On phones a strip of buttons replaces it.

import { make, replace, svg } from '../core/dom.js';
import { t } from '../core/i18n.js';

// Sizes and positions in units of the view box.
const WIDTH = 272;
const HEIGHT = 720;
const COLUMN = 124; // width of a side
const [ENCODER, DECODER] = [0, 148]; // left edges
const [ENCODER_MIDDLE, DECODER_MIDDLE] = [62, 210];
const ATTENTION_PARTS = ['qkv', 'scores', 'scale', 'softmax', 'mix', 'heads'];

/** Sockets as `[part, x, y, width, height]`. A part may have several. */
const SOCKETS = [
  ...[ENCODER, DECODER].flatMap((x) => [
    ['words', x, 658, COLUMN, 32],
    ['positions', x, 606, COLUMN, 32],
  ]),
  ...ATTENTION_PARTS.map((part, index) => [part, 9, 539 - index * 37, 106, 30]),
  ['mask', 157, 509, 106, 30],
  ...[
    [ENCODER, 300],
    [ENCODER, 224],
    [DECODER, 450],
    [DECODER, 322],
    [DECODER, 200],
  ].flatMap(([x, y]) => [
    ['residual', x, y, 58, 30],
    ['norm', x + 66, y, 58, 30],
  ]),
  ['network', ENCODER, 262, COLUMN, 30],
  ['network', DECODER, 238, COLUMN, 30],
  ['cross', DECODER, 366, COLUMN, 34],
  ['next', DECODER, 116, COLUMN, 32],
];
const ENCODER_WIRES = [`M${ENCODER_MIDDLE} 690V236`, `M${ENCODER_MIDDLE} 236V208H136V383H148`];
const decoderWire = (end) => `M${DECODER_MIDDLE} 690V${end}`;

export class ModelPicture {
  /** `onOpen(part)`: called when the reader chooses a socket. */
  constructor(onOpen) {
    this.onOpen = onOpen;
    this.picture = svg('svg', {
      viewBox: `0 0 ${WIDTH} ${HEIGHT}`,
      class: 'model-picture',
      role: 'group',
      preserveAspectRatio: 'xMidYMax meet',
    });
    this.keys = make('div', { class: 'part-keys', role: 'group' });
    this.toggle = make('button', { type: 'button', class: 'link show-model', onclick: () => this.toggleModel() });
    this.strip = make('div', { class: 'part-strip' }, this.keys, this.toggle);
    this.hint = make('p', { class: 'quiet picture-hint' });
    this.element = make('div', { class: 'build-model' }, this.strip, this.picture, this.hint);
  }

  toggleModel() {
    const isOpen = this.element.classList.toggle('open');
    this.toggle.setAttribute('aria-expanded', String(isOpen));
  }

  /** `written`: the first words that the model as built so far writes. */
  draw(data, state, written) {
    const focused = document.activeElement?.getAttribute?.('data-socket');
    const status = (part) => {
      if (part === state.removed) return 'removed';
      if (part === state.part) return 'current';
      return state.isBuilt(part) ? 'built' : 'empty';
    };
    this.picture.setAttribute('aria-label', t('build_model'));
    this.keys.setAttribute('aria-label', t('build_model'));
    this.toggle.textContent = t('build_show_model');
    this.hint.textContent = t('build_picture_hint');
    this.toggle.setAttribute('aria-expanded', String(this.element.classList.contains('open')));
    replace(this.picture, ...this.background(data, written), ...SOCKETS.map((socket, index) => this.socket(socket, index, status)));
    replace(this.keys, ...state.names.map((part, index) => this.key(part, index, status(part))));
    if (focused) this.element.querySelector(`[data-socket="${focused}"]`)?.focus();
  }

  background(data, written) {
    const box = (x, y, height) => svg('rect', { class: 'frame', x, y, width: COLUMN, height, rx: 8 });
    const text = (content, x, y, kind = 'caption') => svg('text', { class: kind, x, y, 'text-anchor': 'middle' }, content);
    return [
      ...[...ENCODER_WIRES, decoderWire(written ? 52 : 132)].map((path) => svg('path', { class: 'wire', d: path })),
      box(ENCODER, 346, 230),
      box(DECODER, 500, 76),
      text(data.words.join(' '), ENCODER_MIDDLE, 712),
      text(`${t('build_start')} I like …`, DECODER_MIDDLE, 712),
      text(t('build_attention'), DECODER_MIDDLE, 562),
      text(t('build_memory'), ENCODER_MIDDLE, 200),
      ...(written ? [text(written, DECODER_MIDDLE, 42, 'written')] : []),
    ];
  }

  /** @param {any} entry an item of `SOCKETS` @param {number} index @param {(part: string) => string} status */
  socket(entry, index, status) {
    const [part, x, y, width, height] = entry;
    const name = t(`build_part_${part}`);
    const group = svg(
      'g',
      {
        class: `socket ${status(part)}`,
        role: 'button',
        tabindex: '0',
        'aria-label': `${name}, ${t(`build_socket_${status(part)}`)}`,
        'data-socket': `${part}-${index}`,
      },
      svg('title', {}, t('build_open_part', { part: name })),
      svg('rect', { x, y, width, height, rx: 5 }),
      svg('text', { x: x + width / 2, y: y + height / 2 + 4.5, 'text-anchor': 'middle' }, name),
    );
    group.addEventListener('click', () => this.onOpen(part));
    group.addEventListener('keydown', (event) => {
      if (event.key !== 'Enter' && event.key !== ' ') return;
      event.preventDefault();
      this.onOpen(part);
    });
    return group;
  }

  key(part, index, status) {
    return make('button', {
      type: 'button',
      class: status,
      'aria-label': `${index + 1}. ${t(`build_part_${part}`)}, ${t(`build_socket_${status}`)}`,
      title: t('build_open_part', { part: t(`build_part_${part}`) }),
      'aria-current': status === 'current' ? 'step' : null,
      onclick: () => this.onOpen(part),
    });
  }
}
