// Compute every step of every lesson as the page does, without a page: the tensors that it needs, or its texts and numbers.
// node walkthrough.js INPUT.json, with tables, a translation, lessons and, in the second run, tensors. Prints JSON.

import { readFileSync } from 'node:fs';

const input = JSON.parse(readFileSync(process.argv[2], 'utf8'));
globalThis.headlightTables = input.tables;

/** The part of an element that formulas and phrases need. */
class Element {
  constructor(name) {
    this.name = name;
    this.children = [];
  }
  append(...children) {
    this.children.push(...children);
  }
  setAttribute() {}
  get textContent() {
    return this.children.map((child) => (typeof child === 'string' ? child : child.textContent)).join('');
  }
}
globalThis.document = /** @type {any} */ ({
  createElementNS: (_, name) => new Element(name),
  createElement: (name) => new Element(name),
  documentElement: { lang: 'en' },
});

const { Translation } = await import('../../viz/widgets/core/translation.js');
const { pageStore } = await import('../../viz/widgets/core/state.js');
const { t } = await import('../../viz/widgets/core/i18n.js');
const { resolveSelection } = await import('../../viz/widgets/lessons/lesson-link.js');
const { formula, formulaLines } = await import('../../viz/widgets/lessons/formula.js');
const { stepNumbers } = await import('../../viz/widgets/lessons/step-numbers.js');
const { answerKey, makeQuestion, reasonFor } = await import('../../viz/widgets/lessons/question.js');
const { StepScene } = await import('../../viz/widgets/lessons/step-scene.js');
const { orderSteps } = await import('../../viz/widgets/lessons/step-order.js');
const { decodeArray } = await import('../../viz/widgets/core/base64-arrays.js');
const { phraseValues, noteKey, wordsKey, formulaFor } = await import('../../viz/widgets/lessons/step-phrases.js');

const translation = new Translation(input.translation);
const loaded = { model: input.model, tensors: new Map(), logits: input.logits };
for (const [name, sent] of Object.entries(input.tensors ?? {})) loaded.tensors.set(name, decodeArray(sent));
const look = resolveSelection(translation, {});
const said = input.lessons.flatMap((lesson) =>
  orderSteps(lesson.steps, input.model.norm_first).flatMap((step) => (input.tensors ? describe(lesson, step) : needs(lesson, step))),
);
console.log(JSON.stringify(input.tensors ? { look, said } : [...new Set(said)]));

function needs(lesson, step) {
  return new StepScene({ ...step, lesson: lesson.name }, translation, look, loaded).requiredPaths();
}

function describe(lesson, step) {
  const count = Math.max(1, step.parts.length);
  return Object.keys(input.tables.words).flatMap((language) =>
    Array.from({ length: count }, (_, part) => {
      pageStore.set({ language });
      const result = input.found[`${lesson.name}.${step.name}`] ?? null;
      const scene = new StepScene({ ...step, lesson: lesson.name }, translation, look, loaded, part, result);
      const base = `lesson_${lesson.name}_${step.name}`;
      const numbers = stepNumbers(scene);
      const values = { ...numbers, ...phraseValues(scene) };
      const question = makeQuestion(scene);
      const asks = question ? [t(`${base}_ask`, values), t(answerKey(base, question), { ...values, ...question.values })] : [];
      const reasons = (question?.options ?? []).map((_, option) => reasonFor(base, question, option));
      const note = noteKey(base, scene);
      const stepFormula = formulaFor(scene);
      return {
        ...{ lesson: lesson.name, step: step.name, part, language, numbers, question },
        reasons: reasons.map((reason) => reason && t(reason.key, { ...values, ...question.values, ...reason.values })),
        phrases: [t(wordsKey(base, scene), values), ...(note ? [t(note, values)] : []), ...asks],
        formulas: [stepFormula.formula, ...stepFormula.numbers].flatMap(formulaLines).map((line) => formula(line, numbers).textContent),
        products: scene.visibleProducts().map((product) => opened(scene.product(product))),
        matrices: Object.fromEntries(shownTensors(step, scene).map((show) => [show.name, numbersIn(scene.matrix(show))])),
      };
    }),
  );
}

function shownTensors(step, scene) {
  return step.figures.flatMap((figure) => scene.visibleTensors(figure)).filter(({ path }) => path !== 'logits');
}

function opened({ row, weights, bias, column, total, cell }) {
  return { row: [...row], weights: [...weights], bias: bias ?? 0, column, total, cell };
}

function numbersIn({ rows, columns, numbers }) {
  return { rows, columns, numbers: [...numbers] };
}
