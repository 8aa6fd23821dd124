// The beam search as a tree: paths, siblings, and the text of each node.

export class SearchTree {
  /** `nodes`: in the server's format. A node's text is the first `unchanged` characters of its parent's text, followed by `added`. */
  constructor(nodes) {
    this.nodes = nodes.map(([parent, step, id, label, unchanged, added, log_probability, score, outcome, reason]) => {
      return { parent, step, id, label, unchanged, added, log_probability, score, outcome, reason, children: [] };
    });
    this.steps = []; // nodes per step, best first
    for (const [place, node] of this.nodes.entries()) {
      const before = this.nodes[node.parent];
      const prefix = [...(before?.text ?? '')].slice(0, node.unchanged).join(''); // the server counts code points
      Object.assign(node, { unchanged: prefix.length, text: prefix + node.added });
      before?.children.push(place);
      this.steps[node.step] ??= [];
      this.steps[node.step].push(place);
    }
    for (const places of this.steps) places.sort((one, other) => this.nodes[other].score - this.nodes[one].score);
  }

  path(place) {
    const path = [];
    for (let at = place; at >= 0; at = this.nodes[at].parent) path.unshift(at);
    return path;
  }

  ids(place) {
    return this.path(place).map((each) => this.nodes[each].id);
  }

  getNode(place) {
    return this.nodes[place];
  }

  about(place) {
    const node = this.nodes[place];
    const stranded =
      node.outcome === 'kept' && node.children.length > 0 && node.children.every((child) => this.nodes[child].outcome === 'dropped');
    const alone = node.outcome === 'kept' && !node.children.length && node.step < this.steps.length - 1;
    return stranded || alone ? { ...node, reason: 'stranded' } : node;
  }

  parent(place) {
    const { parent } = this.nodes[place];
    return parent < 0 ? undefined : parent;
  }

  /** The child on the path to the best translation, else the best child. */
  child(place, best) {
    const { children } = this.nodes[place];
    const bestPath = best === undefined ? [] : this.path(best);
    return (
      children.find((child) => bestPath.includes(child)) ??
      [...children].sort((one, other) => this.nodes[other].score - this.nodes[one].score)[0]
    );
  }

  /** The next better or worse candidate of the same step. */
  sibling(place, step) {
    const places = this.steps[this.nodes[place].step];
    return places[places.indexOf(place) + step];
  }
}
