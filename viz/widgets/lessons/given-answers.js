// The visitor's answers in this session, by question.

export class Answers {
  constructor() {
    this.given = new Map();
    this.scenes = new Map(); // question of an experiment → its scene when it was answered
  }

  record(question, choice, scene) {
    this.given.set(question, choice);
    if (scene.found) this.scenes.set(question, scene);
  }

  of(question) {
    return { given: this.given.get(question), asked: this.scenes.get(question) };
  }

  clear() {
    this.given.clear();
    this.scenes.clear();
  }
}
