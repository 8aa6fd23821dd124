// Answers of the visitor in this session, by question.

export class Answers {
  constructor() {
    this.given = new Map();
    this.scenes = new Map(); // for questions of an experiment: the scene at the time of the answer
  }

  record(question, given, scene) {
    this.given.set(question, given);
    if (scene.found) this.scenes.set(question, scene);
  }

  of(question) {
    return { given: this.given.get(question), asked: this.scenes.get(question) };
  }

  /** Delete all answers. */
  clear() {
    this.given.clear();
    this.scenes.clear();
  }
}
