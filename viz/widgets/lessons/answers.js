// The visitor's answers in this session, by question.

export class Answers {
  constructor() {
    this.chosenOptions = new Map();
    this.scenes = new Map(); // question of an experiment → its scene when it was answered
  }

  record(question, choice, scene) {
    this.chosenOptions.set(question, choice);
    if (scene.result) this.scenes.set(question, scene);
  }

  get(question) {
    return { chosenOption: this.chosenOptions.get(question), answeredScene: this.scenes.get(question) };
  }

  clear() {
    this.chosenOptions.clear();
    this.scenes.clear();
  }
}
