// How the numbers of a step lie in a texture: four neurons in a texel, their groups in rows.

/** Width, height and numbers of a step's table; null where a step has no numbers. */
function tableOf(field, index, base) {
  const step = field.steps[index], layout = TABLES[step.type];
  return layout ? layout(step, base) : null;
}

/** The numbers of a hash grid, four in a texel, in rows of so many texels. */
const GRID_WIDTH = 2048;
function gridOf({arrays: {table}}) {
  const texels = Math.ceil(table.values.length / 4), height = Math.ceil(texels / GRID_WIDTH);
  const data = new Float32Array(4 * GRID_WIDTH * height);
  data.set(table.values);
  return {width: GRID_WIDTH, height, data};
}

/** Whether the table of a step has to do with the base that points are relative to. */
function ofBase(step) {
  return step.sources[0] === COORDINATES;
}

class Table {
  constructor(width, height) {
    this.width = width;
    this.height = height;
    this.data = new Float32Array(4 * width * height);
  }

  /** Put a number at a column for a neuron. */
  set(column, neuron, number) {
    this.data[4 * ((neuron >> 2) * this.width + column) + (neuron & 3)] = number;
  }
}

/** The same number for all four neurons of a texel. */
function setAll(table, column, number) {
  for (let neuron = 0; neuron < 4; neuron++) table.set(column, neuron, number);
}

function constants(...numbers) {
  const table = new Table(1, 1);
  table.data.set(numbers);
  return table;
}

const TABLES = {
  Dense({arrays: {weight, bias}, sources}, base) {
    const [rows, inputs] = weight.shape, ofCoordinates = sources[0] === COORDINATES;
    const columns = 4 * groups(inputs), table = new Table(columns + 1, groups(rows));
    for (let i = 0; i < rows; i++) {
      let shift = bias.values[i];
      for (let k = 0; k < inputs; k++) {
        const number = weight.values[i * inputs + k];
        table.set(k, i, number);
        // Added here, in float64, because points are given relative to the base.
        if (ofCoordinates) shift += number * base[k];
      }
      table.set(columns, i, shift);
    }
    return table;
  },
  SineSeries({arrays: {amplitude, frequency, phase}, offset}) {
    const [neurons, terms] = amplitude.shape, table = new Table(3 * terms + 1, groups(neurons));
    for (let i = 0; i < neurons; i++) {
      const put = neurons === 1 ? (column, number) => setAll(table, column, number) : (column, number) => table.set(column, i, number);
      for (let t = 0; t < terms; t++) {
        [amplitude, frequency, phase].forEach(({values}, part) => put(3 * t + part, values[i * terms + t]));
      }
      put(3 * terms, offset);
    }
    return table;
  },
  Window({arrays: {centre, sharpness}}, base) {
    const [neurons, inputs] = centre.shape, table = new Table(inputs + 1, groups(neurons));
    for (let i = 0; i < neurons; i++) {
      for (let k = 0; k < inputs; k++) table.set(k, i, base[k] - centre.values[i * inputs + k]);
      table.set(inputs, i, sharpness.values[i]);
    }
    return table;
  },
  // One level in a row: cells, the cell of the base and its place in it, and where the level's rows are.
  HashGrid({levels}, base) {
    const table = new Table(4, levels.length);
    levels.forEach(({resolution, offset, rows, dense}, l) => {
      const place = resolution.map((cells, k) => ((Math.min(1, Math.max(-1, base[k])) + 1) * cells) / 2);
      const cell = place.map((p, k) => Math.min(Math.floor(p), resolution[k] - 1));
      table.data.set(resolution, 16 * l);
      table.data.set(cell, 16 * l + 4);
      table.data.set(place.map((p, k) => p - cell[k]), 16 * l + 8);
      table.data.set([offset % 65536, Math.floor(offset / 65536), dense ? 0 : Math.round(Math.log2(rows)), dense ? 1 : 0], 16 * l + 12);
    });
    return table;
  },
  Finer: ({omega0}) => constants(omega0),
  Gauss: ({sigma}) => constants(sigma),
  Gabor: ({omega0, sigma0}) => constants(omega0, sigma0),
};
