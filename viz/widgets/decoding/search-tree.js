// The beam search as a tree: paths, siblings, and the text of each node. Nodes are numbered as by the server.

export class SearchTree {
  /**
   * `nodes`: in the server's format. A node's text is the first `unchanged` characters of its parent's text, followed by
   * `added`.
   */
  constructor(nodes) {
    this.nodes = nodes.map(([parent, step, id, label, unchanged, added, log_probability, score, outcome, reason]) => {
      return { parent, step, id, label, unchanged, added, log_probability, score, outcome, reason, children: [] };
    });
    this.steps = []; // node indices per step, best first
    for (const [index, node] of this.nodes.entries()) {
      const parentNode = this.nodes[node.parent];
      const prefix = [...(parentNode?.text ?? '')].slice(0, node.unchanged).join(''); // the server counts code points
      Object.assign(node, { unchanged: prefix.length, text: prefix + node.added });
      parentNode?.children.push(index);
      this.steps[node.step] ??= [];
      this.steps[node.step].push(index);
    }
    for (const siblings of this.steps) siblings.sort((left, right) => this.nodes[right].score - this.nodes[left].score);
  }

  /** Node indices from the root to a node. */
  path(end) {
    const path = [];
    for (let index = end; index >= 0; index = this.nodes[index].parent) path.unshift(index);
    return path;
  }

  /** Token IDs of the path to a node. */
  ids(index) {
    return this.path(index).map((pathIndex) => this.nodes[pathIndex].id);
  }

  getNode(index) {
    return this.nodes[index];
  }

  /** A node's fields. A kept node without kept continuations, before the last step, gets the reason `stranded`. */
  getFacts(index) {
    const node = this.nodes[index];
    const hasOnlyDropped = node.children.length > 0 && node.children.every((child) => this.nodes[child].outcome === 'dropped');
    const isDeadEnd = !node.children.length && node.step < this.steps.length - 1;
    return node.outcome === 'kept' && (hasOnlyDropped || isDeadEnd) ? { ...node, reason: 'stranded' } : node;
  }

  /** Index of the parent; undefined for the first step. */
  parent(index) {
    const { parent } = this.nodes[index];
    return parent < 0 ? undefined : parent;
  }

  /** The child on the path to the node `best`, else the child with the highest score; undefined without children. */
  child(index, best) {
    const { children } = this.nodes[index];
    const bestPath = best === undefined ? [] : this.path(best);
    return children.find((child) => bestPath.includes(child)) ?? [...children].sort((a, b) => this.nodes[b].score - this.nodes[a].score)[0];
  }

  /** The next better (offset −1) or worse (1) candidate of the same step; undefined if there is none. */
  sibling(index, offset) {
    const siblings = this.steps[this.nodes[index].step];
    return siblings[siblings.indexOf(index) + offset];
  }
}
