// Answers given in this session, by question.

export class Answers {
  constructor() {
    this.given = new Map();
    this.scenes = new Map(); // of an experiment's questions: the scene as it was when they were answered
  }

  record(question, given, scene) {
    this.given.set(question, given);
    if (scene.found) this.scenes.set(question, scene);
  }

  of(question) {
    return { given: this.given.get(question), asked: this.scenes.get(question) };
  }

  /** Every question is open again. */
  clear() {
    this.given.clear();
    this.scenes.clear();
  }
}
