// The beam search as a tree: paths, siblings, and the text of each node.

export class SearchTree {
  /**
   * `nodes`: in the server's format. A node's text is the first `unchanged` characters of its parent's text, followed by
   * `added`.
   */
  constructor(nodes) {
    this.nodes = nodes.map(([parent, step, id, label, unchanged, added, log_probability, score, outcome, reason]) => {
      return { parent, step, id, label, unchanged, added, log_probability, score, outcome, reason, children: [] };
    });
    this.steps = []; // nodes per step, best first
    for (const [number, node] of this.nodes.entries()) {
      const before = this.nodes[node.parent];
      const prefix = [...(before?.text ?? '')].slice(0, node.unchanged).join(''); // the server counts code points
      Object.assign(node, { unchanged: prefix.length, text: prefix + node.added });
      before?.children.push(number);
      this.steps[node.step] ??= [];
      this.steps[node.step].push(number);
    }
    for (const siblings of this.steps) siblings.sort((left, right) => this.nodes[right].score - this.nodes[left].score);
  }

  /** Node indices from the root to a node. */
  path(end) {
    const path = [];
    for (let index = end; index >= 0; index = this.nodes[index].parent) path.unshift(index);
    return path;
  }

  ids(index) {
    return this.path(index).map((item) => this.nodes[item].id);
  }

  getNode(index) {
    return this.nodes[index];
  }

  /** A node's fields. A kept node without kept continuations gets the reason `stranded`. */
  getFacts(index) {
    const node = this.nodes[index];
    const stranded =
      node.outcome === 'kept' && node.children.length > 0 && node.children.every((child) => this.nodes[child].outcome === 'dropped');
    const isDeadEnd = node.outcome === 'kept' && !node.children.length && node.step < this.steps.length - 1;
    return stranded || isDeadEnd ? { ...node, reason: 'stranded' } : node;
  }

  parent(index) {
    const { parent } = this.nodes[index];
    return parent < 0 ? undefined : parent;
  }

  /** The child on the path to the best translation, else the best child. */
  child(index, best) {
    const { children } = this.nodes[index];
    const bestPath = best === undefined ? [] : this.path(best);
    return children.find((child) => bestPath.includes(child)) ?? [...children].sort((a, b) => this.nodes[b].score - this.nodes[a].score)[0];
  }

  /** The next better or worse candidate of the same step. */
  sibling(index, step) {
    const siblings = this.steps[this.nodes[index].step];
    return siblings[siblings.indexOf(index) + step];
  }
}
