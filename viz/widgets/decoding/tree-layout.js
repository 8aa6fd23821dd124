// Layout of a search tree: one column per step with the best nodes on top, or one row per step on narrow pages. The
// tree always fits the width.

const BOX_HEIGHT = 30; // pixels of a box
const ROW_HEIGHT = 44; // pixels from the top of a box to the top of the box below it
const MAX_STEP_WIDTH = 132; // pixels
const GAP = 18; // pixels between the boxes of two steps, for the lines
const ROOT_MARGIN = 18; // pixels to the left of the first step, or above it
const PROBABILITY_MIN_WIDTH = 62; // minimum width in pixels of a box that shows a token and its probability
const TOKEN_MIN_WIDTH = 26; // minimum width in pixels of a box that shows a token

/** The conditional probability of each node's token. */
export function probabilities(tree) {
  const before = (node) => (node.parent < 0 ? 0 : tree.nodes[node.parent].log_probability);
  return tree.nodes.map((node) => Math.min(1, Math.exp(node.log_probability - before(node))));
}

/** The last step in which a candidate translation ends. Later nodes cannot win. */
function lastDecisiveStep({ tree, finished, backs }) {
  const scored = finished.filter((_node, rank) => backs[rank] !== null);
  const candidates = scored.length ? scored : finished.slice(0, 1);
  return candidates.length ? Math.max(...candidates.map((node) => tree.nodes[node].step)) : Infinity;
}

/**
 * The visible nodes. `dropped`: include dropped nodes; `late`: include nodes that could not win any more. The path to
 * `selectedNode` is always visible.
 */
export function visibleNodes(search, { dropped, late, selectedNode }) {
  const { tree } = search;
  const path = new Set(selectedNode === undefined ? [] : tree.path(selectedNode));
  const last = lastDecisiveStep(search);
  return tree.nodes.flatMap(({ outcome, step }, index) => {
    const isShown = (dropped || outcome !== 'dropped') && (late || step <= last);
    return isShown || path.has(index) ? [index] : [];
  });
}

/** Whether the tree has nodes that could not win any more. */
export function hasLateNodes(search) {
  const last = lastDecisiveStep(search);
  return search.tree.nodes.some(({ step }) => step > last);
}

/**
 * Positions and size of the boxes, height of the tree, and whether boxes show tokens and probabilities. `down`: whether
 * the tree grows downward.
 */
export function layout(tree, visible, width, down) {
  const isShown = new Set(visible);
  const steps = tree.steps.map((nodes) => nodes.filter((node) => isShown.has(node))).filter((nodes) => nodes.length);
  const ranks = Math.max(1, ...steps.map((nodes) => nodes.length));
  const lanes = down ? ranks : steps.length;
  const stepWidth = Math.min(MAX_STEP_WIDTH, (width - (down ? 0 : ROOT_MARGIN)) / lanes);
  const gap = down ? Math.min(8, stepWidth / 4) : Math.min(GAP, stepWidth / 6);
  const box = { width: stepWidth - gap, height: BOX_HEIGHT };
  const boxPositions = new Map(); // node → {x, y} of its box
  for (const [step, nodes] of steps.entries()) {
    for (const [rank, node] of nodes.entries()) {
      const position = down
        ? { x: rank * stepWidth, y: ROOT_MARGIN + step * ROW_HEIGHT }
        : { x: ROOT_MARGIN + step * stepWidth + gap / 2, y: rank * ROW_HEIGHT };
      boxPositions.set(node, position);
    }
  }
  const rows = down ? steps.length : ranks;
  const height = rows * ROW_HEIGHT - (ROW_HEIGHT - BOX_HEIGHT) + (down ? ROOT_MARGIN : 0);
  return { boxPositions, box, height, showsTokens: box.width >= TOKEN_MIN_WIDTH, showsProbabilities: box.width >= PROBABILITY_MIN_WIDTH };
}

/** SVG path from a box, or from the root, to the box of a child. */
export function linePath(from, to, box, down) {
  const end = down ? { x: to.x + box.width / 2, y: to.y } : { x: to.x, y: to.y + box.height / 2 };
  const root = down ? { x: box.width / 2, y: 2 } : { x: 2, y: box.height / 2 };
  const start =
    from && (down ? { x: from.x + box.width / 2, y: from.y + box.height } : { x: from.x + box.width, y: from.y + box.height / 2 });
  const { x, y } = start ?? root;
  const middle = down ? (y + end.y) / 2 : (x + end.x) / 2;
  const controlPoints = down ? `${x} ${middle} ${end.x} ${middle}` : `${middle} ${y} ${middle} ${end.y}`;
  return `M${x} ${y}C${controlPoints} ${end.x} ${end.y}`;
}
