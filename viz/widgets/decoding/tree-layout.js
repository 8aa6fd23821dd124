// Layout of a search tree: one column per step, the best node on top, or one row per step on narrow pages. The tree always
// fits the width.

const BOX_HEIGHT = 30; // pixels of a box
const ROW_HEIGHT = 44; // pixels from the top of a box to the top of the box below it
const MAX_STEP_WIDTH = 132; // pixels
const MAX_GAP = 18; // pixels between the boxes of two steps, for the lines
const MAX_GAP_DOWN = 8; // pixels between two boxes of a step, if the tree grows downward
const ROOT_MARGIN = 18; // pixels to the left of the first step, or above it
const MIN_PROBABILITY_WIDTH = 62; // pixels of a box that shows a token and its probability
const MIN_TOKEN_WIDTH = 26; // pixels of a box that shows a token

/** The conditional probability of each node's token. */
export function tokenProbabilities(tree) {
  const parentLogProbability = (node) => (node.parent < 0 ? 0 : tree.nodes[node.parent].log_probability);
  return tree.nodes.map((node) => Math.min(1, Math.exp(node.log_probability - parentLogProbability(node))));
}

/** The last step in which a translation ends that was compared with the others; infinite without one. Later nodes cannot win. */
function lastDecisiveStep({ tree, finished, backs }) {
  const nodesWithBackScore = finished.filter((_node, rank) => backs[rank] !== null);
  const candidates = nodesWithBackScore.length ? nodesWithBackScore : finished.slice(0, 1);
  return candidates.length ? Math.max(...candidates.map((node) => tree.nodes[node].step)) : Infinity;
}

/**
 * Indices of the visible nodes. `showsDropped`: whether they include dropped nodes; `showsLate`: whether they include nodes
 * that could not win any more. The path to `selectedNode` is always visible.
 */
export function listVisibleNodes(search, { showsDropped, showsLate, selectedNode }) {
  const { tree } = search;
  const selectedPath = new Set(selectedNode === undefined ? [] : tree.path(selectedNode));
  const lastStep = lastDecisiveStep(search);
  return tree.nodes.flatMap(({ outcome, step }, index) => {
    const isVisible = (showsDropped || outcome !== 'dropped') && (showsLate || step <= lastStep);
    return isVisible || selectedPath.has(index) ? [index] : [];
  });
}

/** Whether the tree has nodes that could not win any more. */
export function hasLateNodes(search) {
  const lastStep = lastDecisiveStep(search);
  return search.tree.nodes.some(({ step }) => step > lastStep);
}

/**
 * {boxPositions: node → {x, y}, box: {width, height}, height, showsTokens, showsProbabilities}, in pixels. `visible`: indices
 * of the visible nodes; `growsDown`: whether steps are rows.
 */
export function computeLayout(tree, visible, width, growsDown) {
  const visibleSet = new Set(visible);
  const steps = tree.steps.map((nodes) => nodes.filter((node) => visibleSet.has(node))).filter((nodes) => nodes.length);
  const maxRank = Math.max(1, ...steps.map((nodes) => nodes.length));
  const columnCount = growsDown ? maxRank : steps.length;
  const columnWidth = Math.min(MAX_STEP_WIDTH, (width - (growsDown ? 0 : ROOT_MARGIN)) / columnCount);
  const gap = growsDown ? Math.min(MAX_GAP_DOWN, columnWidth / 4) : Math.min(MAX_GAP, columnWidth / 6);
  const box = { width: columnWidth - gap, height: BOX_HEIGHT };
  const boxPositions = new Map();
  for (const [step, nodes] of steps.entries()) {
    for (const [rank, node] of nodes.entries()) {
      const position = growsDown
        ? { x: rank * columnWidth, y: ROOT_MARGIN + step * ROW_HEIGHT }
        : { x: ROOT_MARGIN + step * columnWidth + gap / 2, y: rank * ROW_HEIGHT };
      boxPositions.set(node, position);
    }
  }
  const rowCount = growsDown ? steps.length : maxRank;
  const height = rowCount * ROW_HEIGHT - (ROW_HEIGHT - BOX_HEIGHT) + (growsDown ? ROOT_MARGIN : 0);
  return { boxPositions, box, height, showsTokens: box.width >= MIN_TOKEN_WIDTH, showsProbabilities: box.width >= MIN_PROBABILITY_WIDTH };
}

/**
 * SVG path from the box of a node to the box of its child. `parent`, `child`: their positions; without a parent, the path starts
 * at the root.
 */
export function linePath(parent, child, box, growsDown) {
  const end = growsDown ? { x: child.x + box.width / 2, y: child.y } : { x: child.x, y: child.y + box.height / 2 };
  const root = growsDown ? { x: box.width / 2, y: 2 } : { x: 2, y: box.height / 2 };
  const parentEdge =
    parent &&
    (growsDown ? { x: parent.x + box.width / 2, y: parent.y + box.height } : { x: parent.x + box.width, y: parent.y + box.height / 2 });
  const { x, y } = parentEdge ?? root;
  const middle = growsDown ? (y + end.y) / 2 : (x + end.x) / 2;
  const controlPoints = growsDown ? `${x} ${middle} ${end.x} ${middle}` : `${middle} ${y} ${middle} ${end.y}`;
  return `M${x} ${y}C${controlPoints} ${end.x} ${end.y}`;
}
