import assert from 'node:assert/strict';
import { execFileSync } from 'node:child_process';
import { test } from 'node:test';
import { answered, encodeWeight } from './setup.js';

const { Translation } = await import('../../viz/widgets/core/translation.js');
const { measureNames, listMeasures, measureScale } = await import('../../viz/widgets/parts/measures.js');
const { transposedTranslation } = await import('../../viz/widgets/compare/transposed.js');
const { formatTile } = await import('../../viz/widgets/heads/measure-wall.js');
const { describeHead } = await import('../../viz/widgets/heads/head-explanation.js');
const { groupByRole, nextIndex } = await import('../../viz/widgets/heads/role-chips.js');
const { sortHeads } = await import('../../viz/widgets/heads/head-table.js');

const KINDS = /** @type {const} */ (['encoder', 'decoder', 'cross']);

// A real answer and its measures. One measure is registered only here: the page reads it from the answer.
const SCRIPT = `
import json, numpy as np
from headlight import Translator
from headlight.model.measures.statistics import STATISTICS, Statistic, measure_all
from headlight.viz.service.payload import answer_dict

def far(weights, geometry):
    values = 400 * weights[..., -1, 0]
    values[0, 1] = np.nan
    return values

STATISTICS["far"] = Statistic(far, "tokens", "https://…", ("cross",))
answer = Translator.load("assets/models/toy", device="cpu").translate("ich mochte ein bier , bitte .")
measures = {kind: {name: np.asarray(each).tolist() for name, each in measure_all(answer, kind).items()} for kind in ("encoder", "decoder", "cross")}
about = {"name": "toy", "source": "de", "target": "en"}
kinds = {name: list(each.kinds) for name, each in STATISTICS.items()}
print(json.dumps({"answer": answer_dict(answer, about), "measures": measures, "kinds": kinds}).replace("NaN", "null"))
`;
const output = execFileSync(process.env.PYTHON ?? 'python3', ['-c', SCRIPT], { encoding: 'utf8', maxBuffer: 2 ** 26 });
const reference = JSON.parse(output.trim().split('\n').at(-1) ?? '');

test('every measure of the server is decoded with all displayed decimals', () => {
  const translation = new Translation(reference.answer);
  assert.equal(measureNames(translation, 'cross').at(-1), 'far');
  for (const kind of KINDS) {
    const names = Object.keys(reference.kinds).filter((name) => reference.kinds[name].includes(kind));
    assert.deepEqual(measureNames(translation, kind), names);
    const listed = listMeasures(translation, kind);
    assert.deepEqual([listed.length, listed[0].length], [translation.layers(kind), translation.heads(kind)]);
    for (const name of names) {
      const decimals = name === 'far' ? 1 : 2; // values above 100
      for (const [layer, heads] of reference.measures[kind][name].entries()) {
        for (const [head, expected] of heads.entries()) {
          const actual = listed[layer][head][name];
          const equal = expected === null ? Number.isNaN(actual) : actual.toFixed(decimals) === expected.toFixed(decimals);
          assert.ok(equal, `${kind} ${layer} ${head} ${name}: ${actual} instead of ${expected}`);
        }
      }
    }
  }
});

test('shares are shown as they are, other measures relative to the maximum of the kind', () => {
  const measures = {
    cross: { peak: ['share', 1, `${encodeWeight(0.5)} `], distance: ['tokens', 10, encodeWeight(0.1) + encodeWeight(0.2)] },
  };
  const [maps, layers] = [[[[1]], [[1]]], 1];
  const translation = new Translation({ ...answered({ sources: ['a'], targets: ['b'], maps, layers }), measures });
  const [[first, second]] = listMeasures(translation, 'cross');
  assert.deepEqual(
    [first, second],
    [
      { peak: 0.5, distance: 1 },
      { peak: NaN, distance: 2 },
    ],
  );
  const [peak, distance] = ['peak', 'distance'].map((name) => measureScale(translation, 'cross', name));
  assert.deepEqual([peak.unit, peak.high, peak.level(0.5), peak.level(NaN)], ['share', 1, 0.5, NaN]);
  assert.deepEqual([distance.unit, distance.high, distance.level(1)], ['tokens', 2, 0.5]);
});

test('an answer without measures (an older or a transposed one) shows none', () => {
  const values = answered({ sources: ['a'], targets: ['b'], maps: [[[1]]] });
  const measures = { cross: { peak: ['share', 1, encodeWeight(1)] } };
  for (const translation of [new Translation(values), transposedTranslation(new Translation({ ...values, measures }))]) {
    assert.deepEqual(measureNames(translation, 'cross'), []);
    assert.deepEqual(listMeasures(translation, 'cross'), [[{}]]);
    const here = { role: 'unclear', share: 0.5, late: false, measures: listMeasures(translation, 'cross')[0][0] };
    assert.deepEqual(
      describeHead(here, null, 0).map(([phrase]) => phrase),
      ['explain_unclear'],
    );
  }
});

test('tiles show three characters', () => {
  assert.deepEqual(
    [formatTile(0.984, 'share'), formatTile(1, 'share'), formatTile(2.345, 'bits'), formatTile(NaN, 'share')],
    ['.98', '1.00', '2.3', '–'],
  );
});

test('heads of a role are sorted, and there is no next one after the last', () => {
  const of = (...rows) => ({ layers: () => rows.length, heads: () => rows[0].length, roles: { cross: rows } });
  const translation = /** @type {any} */ (
    of(
      [
        ['spreads', 0.6],
        ['aligns', 0.5],
      ],
      [
        ['aligns', 0.9],
        ['unclear', 0.1],
      ],
    )
  );
  const heads = groupByRole(translation, 'cross');
  assert.deepEqual([...heads.keys()], ['aligns', 'spreads', 'unclear']);
  assert.deepEqual(
    heads.get('aligns').map(({ layer, head }) => [layer, head]),
    [
      [1, 0],
      [0, 1],
    ],
  );
  assert.deepEqual([nextIndex(heads.get('aligns'), 0), nextIndex(heads.get('aligns'), 1)], [1, -1]);
});

test('the table sorts by any column, with missing numbers last', () => {
  const head = (number, role, peak) => ({ layer: 0, head: number, role, share: peak, measures: { peak } });
  const heads = [head(0, 'b', 0.2), head(1, 'a', NaN), head(2, 'a', 0.9)];
  const order = (column, turned) => sortHeads(heads, column, turned).map((each) => each.head);
  assert.deepEqual(order('peak', false), [2, 0, 1]);
  assert.deepEqual(order('head', false), [0, 1, 2]);
  assert.deepEqual(order('head', true), [2, 1, 0]);
  assert.equal(order('role', false).at(-1), 0);
});
