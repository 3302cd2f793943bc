// The network of this page: its steps, its numbers, and its values in float64.

const COORDINATES = 0;
const LARGEST_LOG_DENSITY = 15;
const PRIMES = [1, 2654435761, 805459861, 3674653429];

/** The bytes of a base64 text. */
function bytesOf(text) {
  const binary = atob(text), bytes = new Uint8Array(binary.length);
  for (let i = 0; i < binary.length; i++) bytes[i] = binary.charCodeAt(i);
  return bytes;
}

/** Float16 numbers as float32. */
function fromHalves(halves) {
  const out = new Float32Array(halves.length);
  for (let i = 0; i < halves.length; i++) {
    const bits = halves[i], sign = bits & 0x8000 ? -1 : 1, exponent = (bits >> 10) & 31, rest = bits & 1023;
    if (exponent === 0) out[i] = sign * rest * 2 ** -24;
    else if (exponent === 31) out[i] = rest ? NaN : sign * Infinity;
    else out[i] = sign * (1 + rest / 1024) * 2 ** (exponent - 15);
  }
  return out;
}

class Field {
  /** `description` names the steps and where their arrays lie in `bytes`. */
  constructor(description, bytes) {
    this.about = description;
    this.inputs = description.inputs;
    this.steps = description.steps.map((step) => Field.#loaded(step, bytes));
    this.widths = [this.inputs];
    for (const step of this.steps) this.widths.push(this.#width(step));
    this.outputs = this.widths[this.widths.length - 1];
    this.original = this.steps.map((step) => ({...step, arrays: Field.#copied(step)}));
  }

  static #loaded(step, bytes) {
    const arrays = {};
    for (const [name, {at, shape, type}] of Object.entries(step.arrays)) {
      const count = shape.reduce((a, b) => a * b, 1);
      const part = bytes.buffer.slice(bytes.byteOffset + at, bytes.byteOffset + at + count * (type === 'f16' ? 2 : 4));
      const values = type === 'f16' ? fromHalves(new Uint16Array(part)) : new Float32Array(part);
      arrays[name] = {shape, values};
    }
    return {...step, arrays};
  }

  static #copied(step) {
    const copies = {};
    for (const [name, {shape, values}] of Object.entries(step.arrays)) copies[name] = {shape, values: values.slice()};
    return copies;
  }

  #width(step) {
    if (step.type === 'Dense') return step.arrays.bias.shape[0];
    if (step.type === 'Window') return step.arrays.sharpness.shape[0];
    if (step.type === 'HashGrid') return step.levels.length * step.arrays.table.shape[1];
    if (step.type === 'Chebyshev') return step.degree * this.widths[step.sources[0]];
    return this.widths[step.sources[0]];
  }

  /** Put the numbers of a step back to what the file says. */
  reset(index) {
    const original = this.original[index];
    this.steps[index] = {...original, arrays: Field.#copied(original)};
  }

  /** Every value at one point (an array of coordinates), in float64: value 0 is the point, the last the output. */
  everyValue(point) {
    const values = [Float64Array.from(point)];
    for (const step of this.steps) values.push(FORMULAS[step.type](step, ...step.sources.map((source) => values[source])));
    return values;
  }

  /** The outputs at one point, in the units of the signal. */
  at(point) {
    const {value_offset: offset, value_scale: scale} = this.about.meaning;
    const values = this.everyValue(point);
    return Array.from(values[values.length - 1], (value) => offset + scale * value);
  }
}

const FORMULAS = {
  Dense({arrays: {weight, bias}}, x) {
    const [rows, columns] = weight.shape, out = new Float64Array(rows);
    for (let i = 0; i < rows; i++) {
      let total = bias.values[i];
      for (let k = 0, at = i * columns; k < columns; k++) total += weight.values[at + k] * x[k];
      out[i] = total;
    }
    return out;
  },
  SineSeries(step, x) {
    return x.map((a, i) => seriesAt(step, a, i));
  },
  Finer: ({omega0}, x) => x.map((a) => Math.sin(omega0 * (Math.abs(a) + 1) * a)),
  Gauss: ({sigma}, x) => x.map((a) => Math.exp(-((sigma * a) ** 2))),
  Relu: (_, x) => x.map((a) => Math.max(a, 0)),
  Chebyshev({degree}, x) {
    const out = new Float64Array(degree * x.length);
    x.forEach((a, i) => {
      for (let d = 0, u = Math.tanh(a), before = 1, now = u; d < degree; d++) {
        out[i * degree + d] = now;
        [before, now] = [now, 2 * u * now - before];
      }
    });
    return out;
  },
  Radiance: (_, x) => x.map((a, i) => (i === 0 ? Math.exp(Math.min(a, LARGEST_LOG_DENSITY)) : 1 / (1 + Math.exp(-a)))),
  Window({arrays: {centre, sharpness}}, x) {
    return Float64Array.from(sharpness.values, (sharp, i) => {
      let distance = 0;
      for (let k = 0; k < x.length; k++) distance += (x[k] - centre.values[i * x.length + k]) ** 2;
      return Math.exp(-0.5 * sharp * distance);
    });
  },
  HashGrid({arrays: {table}, levels, smooth}, x) {
    const features = table.shape[1], out = new Float64Array(levels.length * features), axes = levels[0].resolution.length;
    levels.forEach(({resolution, offset, rows, dense}, l) => {
      const place = resolution.map((cells, k) => ((Math.min(1, Math.max(-1, x[k])) + 1) * cells) / 2);
      const cell = place.map((p, k) => Math.min(Math.floor(p), resolution[k] - 1));
      const s = place.map((p, k) => (smooth ? (p - cell[k]) ** 2 * (3 - 2 * (p - cell[k])) : p - cell[k]));
      for (let corner = 0; corner < 1 << axes; corner++) {
        let weight = 1, row = 0;
        for (let k = 0; k < axes; k++) {
          const bit = (corner >> k) & 1, vertex = cell[k] + bit;
          weight *= bit ? s[k] : 1 - s[k];
          row = dense ? row * (resolution[k] + 1) + vertex : (row ^ Math.imul(vertex, PRIMES[axes - 1 - k])) >>> 0;
        }
        row = (dense ? row : row & (rows - 1)) + offset;
        for (let f = 0; f < features; f++) out[l * features + f] += weight * table.values[row * features + f];
      }
    });
    return out;
  },
  Gabor({omega0, sigma0}, z, w) {
    const out = new Float64Array(z.length);
    for (let i = 0; i < z.length; i += 2) {
      let square = z[i] ** 2 + z[i + 1] ** 2;
      if (w) square += w[i] ** 2 + w[i + 1] ** 2;
      const envelope = Math.exp(-(sigma0 ** 2) * square - omega0 * z[i + 1]);
      out[i] = envelope * Math.cos(omega0 * z[i]);
      out[i + 1] = envelope * Math.sin(omega0 * z[i]);
    }
    return out;
  },
  Sum: (_, a, b) => a.map((value, i) => value + b[i]),
  Product: (_, a, b) => a.map((value, i) => value * b[i]),
};

/** sum_t C_t sin(Omega_t a + Phi_t) + offset of one neuron. */
function seriesAt({arrays: {amplitude, frequency, phase}, offset}, a, neuron) {
  const [columns, terms] = amplitude.shape;
  let total = offset;
  for (let t = 0, at = columns === 1 ? 0 : neuron * terms; t < terms; t++, at++) {
    total += amplitude.values[at] * Math.sin(frequency.values[at] * a + phase.values[at]);
  }
  return total;
}
