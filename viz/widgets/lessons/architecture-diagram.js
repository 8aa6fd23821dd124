// Architecture diagram: highlights the part of the current step; parts link to their steps. Only the encoder shows the
// steps of attention.

import { make, svg } from '../core/dom.js';
import { t } from '../core/i18n.js';

const [LEFT, RIGHT, HALF] = [58, 172, 49];
const STEP_HEIGHT = 17;
const PART_HEIGHT = 22;

/** Centre [x, y] of each part; STEP_HEIGHT marks a step of the expanded attention. */
const PARTS = {
  'e.tokens': [LEFT, 406],
  'e.embed': [LEFT, 378],
  'e.positions': [LEFT, 350],
  'e.qkv': [LEFT, 314, STEP_HEIGHT],
  'e.scores': [LEFT, 295, STEP_HEIGHT],
  'e.scale': [LEFT, 276, STEP_HEIGHT],
  'e.softmax': [LEFT, 257, STEP_HEIGHT],
  'e.mix': [LEFT, 238, STEP_HEIGHT],
  'e.join': [LEFT, 219, STEP_HEIGHT],
  'e.add': [LEFT, 182],
  'e.ff': [LEFT, 146],
  'e.memory': [LEFT, 84],
  'd.tokens': [RIGHT, 406],
  'd.positions': [RIGHT, 378],
  'd.mask': [RIGHT, 324],
  'd.cross': [RIGHT, 256],
  'd.ff': [RIGHT, 182],
  'd.logits': [RIGHT, 118],
  'd.next': [RIGHT, 84],
};
/** SVG paths: the streams, the residual connections, the encoder's memory, and the feedback of the output. */
const STREAMS = ['M58 417V84', 'M172 417V84'];
const RESIDUAL = ['M58 332H3V182H9', 'M58 166H3V122H52', 'M172 346H226V304H178', 'M172 280H226V236H178', 'M172 208H226V162H178'];
const MEMORY = ['M107 84H115V256H123', 'M118 252l5 4-5 4'];
const FEEDBACK = ['M221 84H232V406H222', 'M227 402l-5 4 5 4'];
const SUMS = [
  [LEFT, 122],
  [RIGHT, 304],
  [RIGHT, 236],
  [RIGHT, 162],
];
/** Parts without their own step → the part whose step they link to. */
const SHOWN_BY = { 'd.tokens': 'd.next', 'd.positions': 'e.positions', 'd.ff': 'e.ff' };

/** Index of the step that a part links to, or −1. */
const stepOfPart = (steps, part) => {
  const index = steps.findIndex(({ node }) => node === part);
  return index >= 0 ? index : steps.findIndex(({ node }) => node === SHOWN_BY[part]);
};

/**
 * @param {{ steps: any[], now: number, layers: { encoder: number, decoder: number }, sides: [string, string], go: (step: number) => void, titles: string[] }} about
 */
export function largeDiagram({ steps, now, layers, sides, go, titles }) {
  const highlighted = steps[now].node;
  const diagram = svg('svg', { viewBox: '0 26 236 404', role: 'group', 'aria-label': t('lesson_drawing') });
  const line = (d, isFlow = false) => diagram.append(svg('path', { d, class: isFlow ? 'flow' : 'way' }));
  for (const [x, name, language] of [
    [LEFT, t('lesson_part_encoder'), sides[0]],
    [RIGHT, t('lesson_part_decoder'), sides[1]],
  ])
    diagram.append(svg('text', { x, y: 44, class: 'side' }, name), svg('text', { x, y: 60, class: 'quiet' }, language));
  for (const d of [...STREAMS, ...RESIDUAL]) line(d);
  for (const d of MEMORY) line(d, highlighted === 'd.cross');
  for (const d of FEEDBACK) line(d, highlighted === 'd.next');
  for (const [x, y] of SUMS)
    diagram.append(svg('circle', { cx: x, cy: y, r: 6 }), svg('path', { d: `M${x - 3} ${y}h6M${x} ${y - 3}v6`, class: 'way' }));
  diagram.append(svg('rect', { x: 9, y: 208, width: 98, height: 116, rx: 5, class: 'opened' }));
  diagram.append(svg('text', { x: LEFT, y: 108, class: 'quiet outlined' }, t('lesson_layers', { count: layers.encoder })));
  diagram.append(svg('text', { x: RIGHT, y: 146, class: 'quiet outlined' }, t('lesson_layers', { count: layers.decoder })));
  for (const [part, [x, y, height = PART_HEIGHT]] of Object.entries(PARTS)) {
    const halfWidth = x === LEFT ? HALF - 3 : HALF;
    const group = diagramBlock(part, { steps, lit: highlighted, now, go, titles });
    group.append(svg('rect', { x: x - halfWidth, y: y - height / 2, width: 2 * halfWidth, height, rx: 4 }));
    group.append(svg('text', { x, y: y + 4 }, t(`lesson_part_${part.replace('.', '_')}`)));
    diagram.append(group);
  }
  return diagram;
}

/** Diagram for narrow screens: two rows of small blocks and the name of the highlighted part. */
export function smallDiagram({ steps, now, go, titles, width }) {
  const highlighted = steps[now].node;
  const encoder = Object.keys(PARTS).filter((part) => part.startsWith('e.'));
  const decoder = Object.keys(PARTS).filter((part) => part.startsWith('d.'));
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
    const group = diagramBlock(part, { steps, lit: highlighted, now, go, titles });
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
function diagramBlock(part, { steps, lit, now, go, titles }) {
  const step = stepOfPart(steps, part);
  const state = part === lit ? 'lit' : step < 0 ? 'idle' : step < now && steps[step].node === part ? 'past' : 'ahead';
  const name = t(`lesson_part_${part.replace('.', '_')}`);
  const attributes = { class: `part ${state}`, 'data-part': part };
  if (step < 0) return svg('g', attributes);
  const group = svg('g', {
    ...attributes,
    role: 'button',
    tabindex: 0,
    'aria-label': `${name}: ${titles[step]}`,
    ...(part === lit ? { 'aria-current': 'step' } : {}),
  });
  group.addEventListener('click', () => go(step));
  group.addEventListener('keydown', (event) => {
    if (event.key !== 'Enter' && event.key !== ' ') return;
    event.preventDefault();
    event.stopPropagation();
    go(step);
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
