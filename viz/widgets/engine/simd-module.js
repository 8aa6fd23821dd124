// Matrix products as a WebAssembly module with SIMD instructions, assembled here: 600 bytes, so no compiler is needed.
// WebAssembly specification, chapter "Binary format"

const [BLOCK, LOOP, BR_IF, END, EMPTY] = [0x02, 0x03, 0x0d, 0x0b, 0x40];
const [LOCAL_GET, LOCAL_SET, I32_CONST, I32_ADD, I32_MUL, I32_SHL, I32_LT] = [0x20, 0x21, 0x41, 0x6a, 0x6c, 0x74, 0x49];
const [F32_ADD, F32_STORE, SIMD] = [0x92, 0x38, 0xfd];
const [I32, F32X4] = [0x7f, 0x7b];
const [V_LOAD, V_SPLAT, V_STORE, V_CONST, V_LANE, V_ADD, V_MUL] = [[0x00], [0x09], [0x0b], [0x0c], [0x1f], [0xe4, 0x01], [0xe6, 0x01]];
const PARAMETERS = ['x', 'rows', 'weights', 'outputs', 'inputs', 'y'];
const NUMBERS = ['output', 'row', 'from', 'to', 'at', 'rowBytes', 'end'];
const SUMS = ['sum0', 'sum1', 'sum2', 'sum3', 'values'];
const LOCALS = new Map([...PARAMETERS, ...NUMBERS, ...SUMS].map((name, index) => [name, index]));
const TILE = 4; // outputs that are computed together

/** A whole number in LEB128. */
function encodeLeb128(number) {
  const bytes = [];
  for (;;) {
    const low = number & 0x7f;
    number >>= 7;
    if ((number === 0 && !(low & 0x40)) || (number === -1 && low & 0x40)) return [...bytes, low];
    bytes.push(low | 0x80);
  }
}

const unsignedLeb = (number) => (number < 0x80 ? [number] : [(number & 0x7f) | 0x80, ...unsignedLeb(number >> 7)]);
const get = (name) => [LOCAL_GET, LOCALS.get(name)];
const set = (name, ...value) => [...value.flat(), LOCAL_SET, LOCALS.get(name)];
const constant = (number) => [I32_CONST, ...encodeLeb128(number)];
const add = (first, second) => [...first, ...second, I32_ADD];
const multiply = (first, second) => [...first, ...second, I32_MUL];
const increase = (name, by) => set(name, add(get(name), by));
const load = (address, offset = 0) => [...address, SIMD, ...V_LOAD, 4, ...unsignedLeb(offset)];
const repeatWhile = (condition, ...body) => [LOOP, EMPTY, ...body.flat(), ...condition, BR_IF, 0, END];
const isBelow = (name, limit) => [...get(name), ...get(limit), I32_LT];
const lane = (sum, index) => [...get(sum), SIMD, ...V_LANE, index];

/** Adds the products of four numbers with those of one row of the weights. */
const accumulate = (sum, numbers, row) => {
  const address = add(multiply(get('rowBytes'), constant(row)), add(get('weights'), get('at')));
  return set(sum, [...get(sum), ...get(numbers), ...load(address), SIMD, ...V_MUL, SIMD, ...V_ADD]);
};

/** Stores the sum of the four lanes of a sum. */
const store = (sum, row) => {
  const total = [...lane(sum, 0), ...lane(sum, 1), F32_ADD, ...lane(sum, 2), ...lane(sum, 3), F32_ADD, F32_ADD];
  return [...get('to'), ...total, F32_STORE, 2, ...unsignedLeb(4 * row)];
};

/** y[row, output] = Σ x[row, input] · weights[output, input] */
function productCode() {
  const zero = [SIMD, ...V_CONST, ...Array(16).fill(0)];
  const sums = SUMS.slice(0, TILE);
  const innerLoop = repeatWhile(
    isBelow('at', 'rowBytes'),
    set('values', load(add(get('from'), get('at')))),
    ...sums.map((sum, row) => accumulate(sum, 'values', row)),
    increase('at', constant(16)),
  );
  const rowLoop = repeatWhile(
    isBelow('row', 'rows'),
    ...sums.map((sum) => set(sum, zero)),
    set('at', constant(0)),
    innerLoop,
    ...sums.map(store),
    increase('from', get('rowBytes')),
    increase('to', [...get('outputs'), ...constant(2), I32_SHL]),
    increase('row', constant(1)),
  );
  const start = [set('from', get('x')), set('to', add(get('y'), outputOffset()))];
  return functionCode(start, rowLoop);
}

/** y[row, input] += Σ x[row, output] · weights[output, input] */
function transposedCode() {
  const factors = SUMS.slice(0, TILE);
  const innerLoop = repeatWhile(
    isBelow('at', 'rowBytes'),
    set('values', load(add(get('to'), get('at')))),
    ...factors.map((factor, row) => accumulate('values', factor, row)),
    [...add(get('to'), get('at')), ...get('values'), SIMD, ...V_STORE, 4, 0],
    increase('at', constant(16)),
  );
  const rowLoop = repeatWhile(
    isBelow('row', 'rows'),
    ...factors.map((factor, index) => set(factor, [...get('from'), SIMD, ...V_SPLAT, 2, ...unsignedLeb(4 * index)])),
    set('at', constant(0)),
    innerLoop,
    increase('from', [...get('outputs'), ...constant(2), I32_SHL]),
    increase('to', get('rowBytes')),
    increase('row', constant(1)),
  );
  return functionCode([set('from', add(get('x'), outputOffset())), set('to', get('y'))], rowLoop);
}

/** Bytes of the numbers before the present output. */
const outputOffset = () => [...get('output'), ...constant(2), I32_SHL];

/** A function that runs `start` and a loop over the rows for every four outputs. */
function functionCode(start, rowLoop) {
  const outputLoop = repeatWhile(
    isBelow('output', 'outputs'),
    set('row', constant(0)),
    ...start,
    rowLoop,
    increase('weights', multiply(get('rowBytes'), constant(TILE))),
    increase('output', constant(TILE)),
  );
  const rowBytes = set('rowBytes', [...get('inputs'), ...constant(2), I32_SHL]);
  const code = [2, NUMBERS.length, I32, SUMS.length, F32X4, ...rowBytes, BLOCK, EMPTY, ...outputLoop, END, END];
  return [...unsignedLeb(code.length), ...code];
}

const text = (name) => [name.length, ...Array.from(name, (letter) => letter.charCodeAt(0))];
const section = (id, content) => [id, ...unsignedLeb(content.length), ...content];

/** The bytes of a module that imports `env.memory` and exports `product` and `transposed`, both with `PARAMETERS`. */
export function moduleBytes() {
  return new Uint8Array([
    ...[0x00, 0x61, 0x73, 0x6d, 1, 0, 0, 0],
    ...section(1, [1, 0x60, PARAMETERS.length, ...PARAMETERS.map(() => I32), 0]),
    ...section(2, [1, ...text('env'), ...text('memory'), 2, 0, 1]),
    ...section(3, [2, 0, 0]),
    ...section(7, [2, ...text('product'), 0, 0, ...text('transposed'), 0, 1]),
    ...section(10, [2, ...productCode(), ...transposedCode()]),
  ]);
}
