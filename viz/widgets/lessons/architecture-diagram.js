// Architecture diagram: highlights the part of the current step; parts link to their steps. Only the encoder shows the
// steps of attention.

import { make, svg } from '../core/dom.js';
import { t } from '../core/i18n.js';

// Lengths are in units of the view box.
const [LEFT, RIGHT, HALF_WIDTH] = [58, 172, 49]; // centres of encoder and decoder, and half the width of a part
const STEP_HEIGHT = 17; // of a step of the expanded attention, or a norm
const PART_HEIGHT = 22;

/** Centre [x, y] and height of the parts whose position is the same in all models. The default height is `PART_HEIGHT`. */
const FIXED = {
  'e.tokens': [LEFT, 412],
  'e.embed': [LEFT, 387],
  'e.positions': [LEFT, 362],
  'e.qkv': [LEFT, 314, STEP_HEIGHT],
  'e.scores': [LEFT, 295, STEP_HEIGHT],
  'e.scale': [LEFT, 276, STEP_HEIGHT],
  'e.softmax': [LEFT, 257, STEP_HEIGHT],
  'e.mix': [LEFT, 238, STEP_HEIGHT],
  'e.join': [LEFT, 219, STEP_HEIGHT],
  'e.memory': [LEFT, 60],
  'd.tokens': [RIGHT, 412],
  'd.positions': [RIGHT, 387],
  'd.logits': [RIGHT, 94],
  'd.next': [RIGHT, 60],
};
/** Parts whose position depends on the norm, which is before each sub-layer (`PRE`) or after each sum (`POST`). */
const PRE = {
  'e.norm': [LEFT, 335, STEP_HEIGHT],
  'e.add': [LEFT, 182],
  'e.norm_ff': [LEFT, 157, STEP_HEIGHT],
  'e.ff': [LEFT, 136],
  'e.final': [LEFT, 82, STEP_HEIGHT],
  'd.norm_mask': [RIGHT, 344, STEP_HEIGHT],
  'd.mask': [RIGHT, 321],
  'd.norm_cross': [RIGHT, 275, STEP_HEIGHT],
  'd.cross': [RIGHT, 252],
  'd.norm_ff': [RIGHT, 206, STEP_HEIGHT],
  'd.ff': [RIGHT, 183],
  'd.final': [RIGHT, 122, STEP_HEIGHT],
};
const POST = {
  'e.add': [LEFT, 186],
  'e.norm': [LEFT, 165, STEP_HEIGHT],
  'e.ff': [LEFT, 136],
  'e.norm_ff': [LEFT, 99, STEP_HEIGHT],
  'd.mask': [RIGHT, 334],
  'd.norm_mask': [RIGHT, 292, STEP_HEIGHT],
  'd.cross': [RIGHT, 262],
  'd.norm_cross': [RIGHT, 220, STEP_HEIGHT],
  'd.ff': [RIGHT, 190],
  'd.norm_ff': [RIGHT, 148, STEP_HEIGHT],
};
/** SVG paths of the streams. */
const STREAMS = ['M58 417V60', 'M172 417V60'];
/** Arrangements of the parts. `attention`, `encoder`, `decoder`: y of the branch and of the sum of each residual connection; `layers`: y of the layer counts. */
const ARRANGEMENTS = {
  pre: { parts: PRE, attention: [348, 182], encoder: [[169, 115]], decoder: [[356, 299], [287, 230], [218, 161]], layers: [104, 146] },
  post: { parts: POST, attention: [340, 186], encoder: [[153, 116]], decoder: [[350, 312], [278, 240], [206, 168]], layers: [80, 126] },
}; // biome-ignore format: a table
const residualPath = (side, [branch, sum]) => (side === LEFT ? `M58 ${branch}H3V${sum}H52` : `M172 ${branch}H226V${sum}H178`);
const memoryPath = (cross) => [`M107 60H115V${cross}H123`, `M118 ${cross - 4}l5 4-5 4`];
const FEEDBACK = ['M221 60H232V412H222', 'M227 408l-5 4 5 4'];

/** All parts of an arrangement, from the bottom up, the encoder first. */
const allParts = ({ parts }) => Object.entries({ ...FIXED, ...parts }).sort(([, [x, y]], [, [otherX, otherY]]) => x - otherX || otherY - y);

/** Parts without their own step → the part whose step they link to. */
const LINKED_PARTS = {
  'd.tokens': 'd.next',
  'd.positions': 'e.positions',
  'd.ff': 'e.ff',
  ...Object.fromEntries(['e.norm_ff', 'e.final', 'd.norm_mask', 'd.norm_cross', 'd.norm_ff', 'd.final'].map((part) => [part, 'e.norm'])),
};

/** Index of the step that a part links to, or −1. */
const stepOfPart = (steps, part) => {
  const index = steps.findIndex(({ node }) => node === part);
  return index >= 0 ? index : steps.findIndex(({ node }) => node === LINKED_PARTS[part]);
};

/**
 * @param {{ steps: any[], stepIndex: number, layers: { encoder: number, decoder: number }, normFirst: boolean, sides: [string, string], onStep: (step: number) => void, titles: string[] }} options
 */
export function largeDiagram({ steps, stepIndex, layers, normFirst, sides, onStep, titles }) {
  const highlighted = steps[stepIndex].node;
  const arrangement = ARRANGEMENTS[normFirst ? 'pre' : 'post'];
  const diagram = svg('svg', { viewBox: '0 0 236 430', role: 'group', 'aria-label': t('lesson_drawing') });
  const line = (d, isFlow = false) => diagram.append(svg('path', { d, class: isFlow ? 'flow' : 'way' }));
  for (const [x, name, language] of [
    [LEFT, t('lesson_part_encoder'), sides[0]],
    [RIGHT, t('lesson_part_decoder'), sides[1]],
  ])
    diagram.append(svg('text', { x, y: 18, class: 'side' }, name), svg('text', { x, y: 34, class: 'quiet' }, language));
  const [branch, end] = arrangement.attention;
  for (const d of [...STREAMS, `M58 ${branch}H3V${end}H9`]) line(d);
  for (const [side, residuals] of /** @type {[number, number[][]][]} */ ([
    [LEFT, arrangement.encoder],
    [RIGHT, arrangement.decoder],
  ]))
    for (const [from, to] of residuals) {
      line(residualPath(side, [from, to]));
      diagram.append(
        svg('circle', { cx: side, cy: to, r: 6 }),
        svg('path', { d: `M${side - 3} ${to}h6M${side} ${to - 3}v6`, class: 'way' }),
      );
    }
  for (const d of memoryPath(arrangement.parts['d.cross'][1])) line(d, highlighted === 'd.cross');
  for (const d of FEEDBACK) line(d, highlighted === 'd.next');
  diagram.append(svg('rect', { x: 9, y: 208, width: 98, height: 116, rx: 5, class: 'opened' }));
  const [encoderY, decoderY] = arrangement.layers;
  diagram.append(svg('text', { x: LEFT, y: encoderY, class: 'quiet outlined' }, t('lesson_layers', { count: layers.encoder })));
  diagram.append(svg('text', { x: RIGHT, y: decoderY, class: 'quiet outlined' }, t('lesson_layers', { count: layers.decoder })));
  for (const [part, [x, y, height = PART_HEIGHT]] of allParts(arrangement)) {
    const halfWidth = x === LEFT ? HALF_WIDTH - 3 : HALF_WIDTH;
    const group = diagramBlock(part, { steps, lit: highlighted, stepIndex, onStep, titles });
    group.append(svg('rect', { x: x - halfWidth, y: y - height / 2, width: 2 * halfWidth, height, rx: 4 }));
    group.append(svg('text', { x, y: y + 4 }, t(`lesson_part_${(isNorm(part) ? 'e.norm' : part).replace('.', '_')}`)));
    diagram.append(group);
  }
  return diagram;
}

const isNorm = (part) => part.includes('norm') || part.endsWith('final');

/** Diagram for narrow screens: two rows of small blocks and the name of the highlighted part. */
export function smallDiagram({ steps, stepIndex, normFirst, onStep, titles, width }) {
  const highlighted = steps[stepIndex].node;
  const names = allParts(ARRANGEMENTS[normFirst ? 'pre' : 'post']).map(([part]) => part);
  const visible = names.filter((part) => part === 'e.norm' || !isNorm(part));
  const [encoder, decoder] = ['e.', 'd.'].map((side) => visible.filter((part) => part.startsWith(side)));
  const cell = width / encoder.length;
  const diagram = svg('svg', { viewBox: `0 0 ${width} 58`, role: 'group', 'aria-label': t('lesson_drawing') });
  const start = width - cell * decoder.length;
  const cross = start + cell * (decoder.indexOf('d.cross') + 0.5);
  diagram.append(
    svg('path', { d: `M0 15.5H${width - 5}`, class: 'way' }),
    svg('path', { d: `M${start} 46.500H${width - 5}`, class: 'way' }),
  );
  diagram.append(svg('path', { d: `M${width - cell / 2} 22V31H${cross}V40`, class: highlighted === 'd.cross' ? 'flow' : 'way' }));
  const addBlock = (part, x, y) => {
    const group = diagramBlock(part, { steps, lit: highlighted, stepIndex, onStep, titles });
    group.append(
      svg('rect', { x, y, width: cell - 5, height: 15, rx: 3 }),
      svg('rect', { x: x - 2, y: y - 6, width: cell, height: 27, class: 'target' }),
    );
    diagram.append(group);
  };
  for (const [index, part] of encoder.entries()) addBlock(part, index * cell, 8);
  for (const [index, part] of decoder.entries()) addBlock(part, start + index * cell, 39);
  diagram.append(svg('text', { x: 0, y: 51, class: 'lit-name' }, t(`lesson_part_${highlighted.replace('.', '_')}`)));
  return diagram;
}

/** A part of the diagram; a button if it links to a step. */
function diagramBlock(part, { steps, lit, stepIndex, onStep, titles }) {
  const step = stepOfPart(steps, part);
  const state = part === lit ? 'lit' : step < 0 ? 'idle' : step < stepIndex && steps[step].node === part ? 'past' : 'ahead';
  const name = t(`lesson_part_${(isNorm(part) ? 'e.norm' : part).replace('.', '_')}`);
  const attributes = { class: `part ${state}`, 'data-part': part };
  if (step < 0) return svg('g', attributes);
  const group = svg('g', {
    ...attributes,
    role: 'button',
    tabindex: 0,
    'aria-label': `${name}: ${titles[step]}`,
    ...(part === lit ? { 'aria-current': 'step' } : {}),
  });
  group.addEventListener('click', () => onStep(step));
  group.addEventListener('keydown', (event) => {
    if (event.key !== 'Enter' && event.key !== ' ') return;
    event.preventDefault();
    event.stopPropagation();
    onStep(step);
  });
  return group;
}

/** Container of the diagram. It preserves the focus when the diagram is redrawn. */
export class ArchitectureDiagram {
  constructor() {
    this.element = make('div', { class: 'lesson-drawing' });
  }

  draw(options, small) {
    const focused = document.activeElement?.closest?.('.lesson-drawing [data-part]')?.getAttribute('data-part');
    this.element.replaceChildren(
      small ? smallDiagram({ ...options, width: Math.max(240, this.element.clientWidth) }) : largeDiagram(options),
    );
    if (focused) /** @type {any} */ (this.element.querySelector(`[data-part="${focused}"]`))?.focus({ preventScroll: true });
  }
}
