import assert from 'node:assert/strict';
import { execFileSync } from 'node:child_process';
import { test } from 'node:test';
import { answered } from './setup.js';

const { Translation } = await import('../../viz/widgets/core/translation.js');
const { MEASURES, measuresForKind, measuresOf, scaleOf } = await import('../../viz/widgets/parts/measures.js');
const { formatTile } = await import('../../viz/widgets/heads/measure-wall.js');
const { headsByRole, nextIndex } = await import('../../viz/widgets/heads/role-chips.js');
const { sortHeads } = await import('../../viz/widgets/heads/head-table.js');

const KINDS = /** @type {const} */ (['encoder', 'decoder', 'cross']);

// A real answer, and what Python says of its heads.
const ASKED = `
import json, numpy as np
from headlight import Translator
from headlight.model.measures.statistics import STATISTICS, measure_all
from headlight.viz.service.payload import answer_dict
found = Translator.load("assets/models/toy", device="cpu").translate("ich mochte ein bier , bitte .")
told = {kind: {name: np.asarray(each).tolist() for name, each in measure_all(found, kind).items()} for kind in ("encoder", "decoder", "cross")}
about = {"name": "toy", "source": "de", "target": "en"}
found = {"answer": answer_dict(found, about), "measures": told, "kinds": {name: list(each.kinds) for name, each in STATISTICS.items()}}
print(json.dumps(found).replace("NaN", "null"))
`;
const asked = execFileSync(process.env.PYTHON ?? 'python3', ['-c', ASKED], { encoding: 'utf8', maxBuffer: 2 ** 26 });
const told = JSON.parse(asked.trim().split('\n').at(-1) ?? '');

test('the browser measures every head as Python does', () => {
  const translation = new Translation(told.answer);
  assert.deepEqual(
    MEASURES.map(({ name }) => name),
    Object.keys(told.kinds),
  );
  for (const kind of KINDS) {
    const found = measuresOf(translation, kind);
    for (const { name } of measuresForKind(kind)) {
      assert.ok(told.kinds[name].includes(kind), `${name} of ${kind}`);
      for (const [layer, heads] of told.measures[kind][name].entries()) {
        for (const [head, expected] of heads.entries()) {
          const own = found[layer][head][name];
          const near = expected === null || expected !== expected ? own !== own : Math.abs(own - expected) < 1e-2;
          assert.ok(near, `${kind} ${layer} ${head} ${name}: ${own} instead of ${expected}`);
        }
      }
    }
    for (const [name, kinds] of Object.entries(told.kinds)) assert.equal(kinds.includes(kind), name in found[0][0], `${name} of ${kind}`);
  }
});

test('planted maps give the numbers that one computes by hand', () => {
  const translation = new Translation(
    answered({
      sources: ['a', 'b', '</s>'],
      targets: ['x', 'y', '</s>'],
      maps: [
        [
          [1, 0, 0],
          [0, 1, 0],
          [0, 0, 1],
        ],
        [
          [0, 0, 1],
          [0.5, 0, 0.5],
          [1, 0, 0],
        ],
      ],
    }),
  );
  const [[diagonal, far]] = measuresOf(translation, 'cross');
  assert.deepEqual([diagonal.entropy, diagonal.peak, diagonal.diagonality, diagonal.same, diagonal.previous], [0, 1, 1, 1, 0]);
  assert.ok(Math.abs(diagonal.special - 1 / 3) < 1e-3);
  assert.ok(Math.abs(far.diagonality) < 1e-3);
  assert.ok(Math.abs(far.distance - 5 / 3) < 1e-3);
  assert.ok(Number.isNaN(diagonal.punctuation));
  assert.equal(scaleOf([[diagonal, far]], 'peak').high, 1);
  assert.ok(Math.abs(scaleOf([[diagonal, far]], 'distance').high - 5 / 3) < 1e-3);
});

test('a tile has room for three letters', () => {
  assert.deepEqual(
    [formatTile(0.984, 'share'), formatTile(1, 'share'), formatTile(2.345, 'bits'), formatTile(NaN, 'share')],
    ['.98', '1.00', '2.3', '–'],
  );
});

test('heads of a role stand in order, and the one after the last is none', () => {
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
  const found = headsByRole(translation, 'cross');
  assert.deepEqual([...found.keys()], ['aligns', 'spreads', 'unclear']);
  assert.deepEqual(
    found.get('aligns').map(({ layer, head }) => [layer, head]),
    [
      [1, 0],
      [0, 1],
    ],
  );
  assert.deepEqual([nextIndex(found.get('aligns'), 0), nextIndex(found.get('aligns'), 1)], [1, -1]);
});

test('the table sorts by any column, with what has no number last', () => {
  const head = (number, role, peak) => ({ layer: 0, head: number, role, share: peak, measures: { peak } });
  const heads = [head(0, 'b', 0.2), head(1, 'a', NaN), head(2, 'a', 0.9)];
  const order = (column, turned) => sortHeads(heads, column, turned).map((each) => each.head);
  assert.deepEqual(order('peak', false), [2, 0, 1]);
  assert.deepEqual(order('head', false), [0, 1, 2]);
  assert.deepEqual(order('head', true), [2, 1, 0]);
  assert.equal(order('role', false).at(-1), 0);
});
