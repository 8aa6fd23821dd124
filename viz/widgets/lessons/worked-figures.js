// Figures that a reader can work out by hand: points on a circle, a product of matrices, numbers in blocks.

import { make, svg } from '../core/dom.js';
import { figureTitle } from './captions.js';
import { labelText } from './labels.js';

const CIRCLE = { width: 400, height: 290, radius: 104 }; // pixels
const LABEL_DISTANCE = 1.16; // of a point's name from the centre, in radii
const COLOURS = 2; // groups of blocks with a colour of their own (worked-figures.css)

export function drawCircle({ title, points, others, x_name: xName, y_name: yName, caption }, { lesson }) {
  const name = labelText(lesson, title);
  const { width, height, radius } = CIRCLE;
  const [centre, middle] = [width / 2, height / 2];
  const [toX, toY] = [(x) => centre + radius * x, (y) => middle - radius * y];
  const described = points.map((point) => `${labelText(lesson, point.name)}: ${point.x.toFixed(2)}, ${point.y.toFixed(2)}`);
  const plot = svg('svg', {
    viewBox: `0 0 ${width} ${height}`,
    class: 'lesson-plot lesson-circle',
    role: 'img',
    'aria-label': [name, ...described].join('. '),
  });
  plot.append(
    svg('line', { x1: centre - radius - 12, x2: centre + radius + 12, y1: middle, y2: middle, class: 'rule' }),
    svg('line', { y1: middle - radius - 12, y2: middle + radius + 12, x1: centre, x2: centre, class: 'rule' }),
    svg('circle', { cx: centre, cy: middle, r: radius, class: 'ring' }),
    ...others.map(([x, y]) => svg('circle', { cx: toX(x), cy: toY(y), r: 2, class: 'other' })),
  );
  for (const [index, { x, y, name: pointName }] of points.entries()) {
    plot.append(svg('line', { x1: centre, y1: middle, x2: toX(x), y2: toY(y), class: `line look-${index}` }));
    plot.append(svg('circle', { cx: toX(x), cy: toY(y), r: 5, class: `dot look-${index}` }));
    const anchor = x > 0.3 ? 'start' : x < -0.3 ? 'end' : 'middle';
    const [textX, textY] = [toX(LABEL_DISTANCE * x), toY(LABEL_DISTANCE * y) + 4];
    plot.append(svg('text', { x: textX, y: textY, 'text-anchor': anchor, class: 'point' }, labelText(lesson, pointName)));
  }
  // The names of the axes are in corners, which points and their names never reach.
  plot.append(svg('text', { x: width - 4, y: height - 4, 'text-anchor': 'end' }, `→ ${labelText(lesson, xName)}`));
  plot.append(svg('text', { x: 0, y: 12 }, `↑ ${labelText(lesson, yName)}`));
  const text = labelText(lesson, caption);
  return [figureTitle(name), plot, text ? make('p', { class: 'quiet' }, text) : null];
}

export function drawMatrices({ title, matrices, signs }, { lesson }) {
  const name = labelText(lesson, title);
  const parts = matrices.flatMap(({ name: matrixName, rows }, index) => {
    const cells = rows.flat().map((number) => make('span', { class: 'numeric' }, number));
    const grid = make('div', { class: 'cells', style: `--columns:${rows[0].length}` }, ...cells);
    const matrix = make('div', { class: 'matrix' }, make('span', { class: 'name' }, labelText(lesson, matrixName)), grid);
    return index ? [make('span', { class: 'sign' }, signs[index - 1]), matrix] : [matrix];
  });
  return [figureTitle(name), make('div', { class: 'lesson-matrices' }, ...parts)];
}

export function drawBlocks({ title, code, shape, blocks, highlighted }, { lesson }) {
  const name = labelText(lesson, title);
  const figures = blocks.map(({ name: blockName, numbers, groups }) => {
    const cells = numbers.flatMap((row, rowIndex) =>
      row.map((number, column) => {
        const chosen = number === highlighted ? ' chosen' : '';
        return make('span', { class: `numeric group-${groups[rowIndex][column] % COLOURS}${chosen}` }, number);
      }),
    );
    const grid = make('div', { class: 'cells', style: `--columns:${numbers[0].length}` }, ...cells);
    return make('div', { class: 'block' }, make('span', { class: 'name' }, labelText(lesson, blockName)), grid);
  });
  const line = make('p', { class: 'lesson-blocks-code' }, make('code', {}, code), make('span', {}, labelText(lesson, shape)));
  return [figureTitle(name), line, make('div', { class: 'lesson-blocks' }, ...figures)];
}
