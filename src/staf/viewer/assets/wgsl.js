// The same formulas as in shaders.js for WebGPU: a thread holds four numbers of a vector in four lanes, as a mat4x4f
// whose column j is lane j. All numbers of the network lie in one buffer; a table is a place in it and a width.

const WGSL_LIBRARY = `
struct Block {
  first: i32, columns: i32, samples: i32, rows: i32,
  origin: vec4f, along_columns: vec4f, along_rows: vec4f, along_samples: vec4f,
  directions: array<vec4f, 3>,
}
@group(0) @binding(0) var<uniform> block: Block;
@group(0) @binding(1) var<storage, read> numbers: array<vec4f>;

fn entry(table: i32, width: i32, column: i32, row: i32) -> vec4f { return numbers[table + row * width + column]; }
fn sine_of(r: vec4f) -> vec4f {
  let s = r * r;
  return r * (1.0 + s * (-0.16666648 + s * (0.0083328998 + s * (-0.00019800897 + s * 0.0000025904883))));
}
fn cosine_of(r: vec4f) -> vec4f {
  let s = r * r;
  return 1.0 + s * (-0.5 + s * (0.041666638 + s * (-0.0013888362 + s * (0.000024760162 - s * 2.6051495e-7))));
}
fn sine(x: vec4f) -> vec4f {
  let n = round(x * 0.31830987);
  return (1.0 - 2.0 * abs(n - 2.0 * round(0.5 * n))) * sine_of((x - n * 3.140625) - n * 0.00096765359);
}
fn cosine(x: vec4f) -> vec4f {
  let n = round(x * 0.31830987);
  return (1.0 - 2.0 * abs(n - 2.0 * round(0.5 * n))) * cosine_of((x - n * 3.140625) - n * 0.00096765359);
}
fn position(n: i32) -> vec4f {
  let m = block.first + n;
  let s = m % block.samples;
  let c = (m / block.samples) % block.columns;
  let r = m / block.samples / block.columns;
  return block.origin + f32(c) * block.along_columns + f32(r) * block.along_rows + f32(s) * block.along_samples;
}
fn place(quad: i32) -> mat4x4f {
  if (LANES == 0) {
    return mat4x4f(position(4 * quad), position(4 * quad + 1), position(4 * quad + 2), position(4 * quad + 3));
  }
  return mat4x4f(position(quad), block.directions[0], block.directions[1], block.directions[2]);
}
fn biased(a: mat4x4f, bias: vec4f) -> mat4x4f {
  if (LANES == 0) { return mat4x4f(a[0] + bias, a[1] + bias, a[2] + bias, a[3] + bias); }
  return mat4x4f(a[0] + bias, a[1], a[2], a[3]);
}
fn coordinate_dense(table: i32, here: mat4x4f, group: i32) -> mat4x4f {
  let weights = mat4x4f(entry(table, 5, 0, group), entry(table, 5, 1, group), entry(table, 5, 2, group), entry(table, 5, 3, group));
  return biased(weights * here, entry(table, 5, 4, group));
}
fn chained(a: mat4x4f, f: vec4f, f1: vec4f, f2: vec4f) -> mat4x4f {
  let bend = select(vec4f(0.0), f2 * (a[1] * a[1] + a[2] * a[2]), LANES == 1);
  return mat4x4f(f, f1 * a[1], f1 * a[2], f1 * a[3] + bend);
}
fn sum(a: mat4x4f, b: mat4x4f) -> mat4x4f { return a + b; }
fn product(a: mat4x4f, b: mat4x4f) -> mat4x4f {
  if (LANES == 0) { return mat4x4f(a[0] * b[0], a[1] * b[1], a[2] * b[2], a[3] * b[3]); }
  let bend = select(vec4f(0.0), 2.0 * (a[1] * b[1] + a[2] * b[2]), LANES == 1);
  return mat4x4f(a[0] * b[0], a[0] * b[1] + a[1] * b[0], a[0] * b[2] + a[2] * b[0], a[0] * b[3] + a[3] * b[0] + bend);
}
fn series(table: i32, width: i32, row: i32, a: mat4x4f) -> mat4x4f {
  let offset = entry(table, width, width - 1, row);
  if (LANES == 0) {
    var total = mat4x4f(offset, offset, offset, offset);
    for (var t = 0; t < width - 1; t += 3) {
      let c = entry(table, width, t, row);
      let omega = entry(table, width, t + 1, row);
      let phi = entry(table, width, t + 2, row);
      total += mat4x4f(c * sine(omega * a[0] + phi), c * sine(omega * a[1] + phi), c * sine(omega * a[2] + phi), c * sine(omega * a[3] + phi));
    }
    return total;
  }
  var f = offset;
  var f1 = vec4f(0.0);
  var f2 = vec4f(0.0);
  for (var t = 0; t < width - 1; t += 3) {
    let c = entry(table, width, t, row);
    let omega = entry(table, width, t + 1, row);
    let angle = omega * a[0] + entry(table, width, t + 2, row);
    let s = c * sine(angle);
    f += s;
    f1 += c * omega * cosine(angle);
    f2 -= omega * omega * s;
  }
  return chained(a, f, f1, f2);
}
fn finer(table: i32, a: mat4x4f) -> mat4x4f {
  let omega = entry(table, 1, 0, 0).x;
  if (LANES == 0) {
    return mat4x4f(sine(omega * (abs(a[0]) + 1.0) * a[0]), sine(omega * (abs(a[1]) + 1.0) * a[1]),
      sine(omega * (abs(a[2]) + 1.0) * a[2]), sine(omega * (abs(a[3]) + 1.0) * a[3]));
  }
  let x = a[0];
  let inner = omega * (2.0 * abs(x) + 1.0);
  let angle = omega * (abs(x) + 1.0) * x;
  return chained(a, sine(angle), cosine(angle) * inner, 2.0 * omega * sign(x) * cosine(angle) - inner * inner * sine(angle));
}
fn gauss(table: i32, a: mat4x4f) -> mat4x4f {
  let sigma = entry(table, 1, 0, 0).x;
  let k = sigma * sigma;
  if (LANES == 0) {
    return mat4x4f(exp(-k * a[0] * a[0]), exp(-k * a[1] * a[1]), exp(-k * a[2] * a[2]), exp(-k * a[3] * a[3]));
  }
  let x = a[0];
  let f = exp(-k * x * x);
  return chained(a, f, -2.0 * k * x * f, (4.0 * k * k * x * x - 2.0 * k) * f);
}
fn relu(a: mat4x4f) -> mat4x4f {
  let zero = vec4f(0.0);
  if (LANES == 0) { return mat4x4f(max(a[0], zero), max(a[1], zero), max(a[2], zero), max(a[3], zero)); }
  return chained(a, max(a[0], zero), step(zero, a[0]), zero);
}
fn chebyshev_lane(x: f32, wanted: i32) -> vec3f {
  let u = tanh(clamp(x, -10.0, 10.0));
  var before = vec3f(1.0, 0.0, 0.0);
  var t = vec3f(u, 1.0, 0.0);
  for (var k = 1; k < wanted; k++) {
    let next = 2.0 * u * t + vec3f(0.0, 2.0 * t.x, 4.0 * t.y) - before;
    before = t;
    t = next;
  }
  let slope = 1.0 - u * u;
  return vec3f(t.x, t.y * slope, t.z * slope * slope - 2.0 * u * slope * t.y);
}
fn chebyshev(x: vec4f, wanted: i32) -> vec4f {
  let f = chebyshev_lane(x.x, wanted);
  if (LANES == 0) {
    return vec4f(f.x, chebyshev_lane(x.y, wanted).x, chebyshev_lane(x.z, wanted).x, chebyshev_lane(x.w, wanted).x);
  }
  return vec4f(f.x, f.y * x.y, f.y * x.z, f.y * x.w + select(0.0, f.z * (x.y * x.y + x.z * x.z), LANES == 1));
}
fn window(table: i32, width: i32, here: mat4x4f, group: i32) -> mat4x4f {
  let sharp = -0.5 * entry(table, width, width - 1, group);
  var e = mat4x4f();
  for (var k = 0; k < width - 1; k++) {
    let centre = entry(table, width, k, group);
    if (LANES == 0) {
      let a = centre + here[0][k];
      let b = centre + here[1][k];
      let c = centre + here[2][k];
      let d = centre + here[3][k];
      e += mat4x4f(a * a, b * b, c * c, d * d);
    } else {
      let away = centre + here[0][k];
      let last = select(2.0 * away * here[3][k], vec4f(2.0 * (here[1][k] * here[1][k] + here[2][k] * here[2][k])), LANES == 1);
      e += mat4x4f(away * away, 2.0 * away * here[1][k], 2.0 * away * here[2][k], last);
    }
  }
  let scaled = mat4x4f(sharp * e[0], sharp * e[1], sharp * e[2], sharp * e[3]);
  if (LANES == 0) { return mat4x4f(exp(scaled[0]), exp(scaled[1]), exp(scaled[2]), exp(scaled[3])); }
  let f = exp(scaled[0]);
  return chained(scaled, f, f, f);
}
fn times(a: vec4f, b: vec4f) -> vec4f { return vec4f(a.xz * b.xz - a.yw * b.yw, a.xz * b.yw + a.yw * b.xz).xzyw; }
fn paired(a: vec4f) -> vec4f { return a + a.yxwz; }
fn gabor_value(omega: f32, k: f32, z: vec4f, square: vec4f) -> vec4f {
  return exp(-k * square - omega * z.yyww) * sine(omega * z.xxzz + vec4f(1.5707964, 0.0, 1.5707964, 0.0));
}
fn gabor(table: i32, z: mat4x4f, w: mat4x4f) -> mat4x4f {
  let omega = entry(table, 1, 0, 0).x;
  let sigma = entry(table, 1, 0, 0).y;
  let k = sigma * sigma;
  let y = gabor_value(omega, k, z[0], paired(z[0] * z[0] + w[0] * w[0]));
  if (LANES == 0) {
    return mat4x4f(y, gabor_value(omega, k, z[1], paired(z[1] * z[1] + w[1] * w[1])),
      gabor_value(omega, k, z[2], paired(z[2] * z[2] + w[2] * w[2])),
      gabor_value(omega, k, z[3], paired(z[3] * z[3] + w[3] * w[3])));
  }
  var h: array<vec4f, 4>;
  for (var j = 1; j < 4; j++) {
    let slope = -2.0 * k * paired(z[0] * z[j] + w[0] * w[j]) - omega * z[j].yyww;
    h[j] = vec4f(slope.x, omega * z[j].x, slope.z, omega * z[j].z);
  }
  if (LANES == 1) {
    let bend = -2.0 * k * paired(z[1] * z[1] + z[2] * z[2] + w[1] * w[1] + w[2] * w[2]);
    h[3] += vec4f(bend.x, 0.0, bend.z, 0.0) + times(h[1], h[1]) + times(h[2], h[2]);
  }
  return mat4x4f(y, times(y, h[1]), times(y, h[2]), times(y, h[3]));
}
`;

const WGSL_GRID = `
fn grid_row(vertex: vec4u, cells: vec4u, about: vec4f, axes: i32) -> u32 {
  var primes = array<u32, 4>(1u, 2654435761u, 805459861u, 3674653429u);
  var row = 0u;
  let dense = about.w > 0.5;
  for (var k = 0; k < axes; k++) {
    row = select(row ^ (vertex[k] * primes[axes - 1 - k]), row * (cells[k] + 1u) + vertex[k], dense);
  }
  if (!dense) { row &= (1u << u32(about.z)) - 1u; }
  return row + u32(about.x) + 65536u * u32(about.y);
}
fn weighed(a: vec4f, b: vec4f) -> vec4f {
  if (LANES == 0) { return a * b; }
  let bend = select(0.0, 2.0 * (a.y * b.y + a.z * b.z), LANES == 1);
  return vec4f(a.x * b.x, a.x * b.y + a.y * b.x, a.x * b.z + a.z * b.x, a.x * b.w + a.w * b.x + bend);
}
fn hash_grid(table: i32, count: i32, grid: i32, here: mat4x4f, group: i32, features: i32, smoothly: bool, axes: i32) -> mat4x4f {
  var made: array<vec4f, 4>;
  for (var c = 0; c < 4; c++) {
    let number = 4 * group + c;
    let level = number / features;
    if (level >= count) { break; }
    let cells = entry(table, 4, 0, level);
    let cell0 = entry(table, 4, 1, level);
    let place0 = entry(table, 4, 2, level);
    let about = entry(table, 4, 3, level);
    var cell: array<vec4f, 4>;
    var s: array<vec4f, 4>;
    for (var lane = 0; lane < 4; lane++) {
      let place = clamp(place0 + 0.5 * cells * here[select(0, lane, LANES == 0)], -cell0, cells - cell0);
      cell[lane] = min(floor(place), cells - 1.0 - cell0);
      s[lane] = place - cell[lane];
    }
    for (var corner = 0; corner < (1 << u32(axes)); corner++) {
      var weight = select(vec4f(1.0, 0.0, 0.0, 0.0), vec4f(1.0), LANES == 0);
      for (var k = 0; k < axes; k++) {
        let side = select(-1.0, 1.0, ((corner >> u32(k)) & 1) == 1);
        let t = vec4f(s[0][k], s[1][k], s[2][k], s[3][k]);
        let w = select(t, t * t * (3.0 - 2.0 * t), smoothly);
        if (LANES == 0) {
          weight *= select(1.0 - w, w, side > 0.0);
        } else {
          let slope = side * select(1.0, 6.0 * t.x * (1.0 - t.x), smoothly);
          let bend = side * select(0.0, 6.0 - 12.0 * t.x, smoothly);
          let along = 0.5 * cells[k] * vec3f(here[1][k], here[2][k], here[3][k]);
          let last = select(slope * along.z, bend * (along.x * along.x + along.y * along.y), LANES == 1);
          weight = weighed(weight, vec4f(select(1.0 - w.x, w.x, side > 0.0), slope * along.x, slope * along.y, last));
        }
      }
      let bits = (vec4u(u32(corner)) >> vec4u(0u, 1u, 2u, 3u)) & vec4u(1u);
      for (var lane = 0; lane < 4; lane++) {
        let from_lane = select(0, lane, LANES == 0);
        let row = grid_row(vec4u(cell0 + cell[from_lane]) + bits, vec4u(cells), about, axes);
        let index = row * u32(features) + u32(number % features);
        made[lane][c] += weight[lane] * numbers[u32(grid) + (index >> 2u)][index & 3u];
      }
    }
  }
  return mat4x4f(made[0], made[1], made[2], made[3]);
}
`;

// A workgroup makes 32 rows (8 quads) of 64 neurons (16 groups): a thread one quad of two groups. Rows and weights come
// into shared memory 16 inputs (4 groups) at a time.
const TILE_QUADS = 8, TILE_GROUPS = 16, STEP = 4;

/** The text of a pass; `places` says where each step's table lies and how wide it is. */
function wgslOf(field, {value, sources}, lanes, places) {
  const lines = [], names = new Map(), before = [];
  let gridded = false;
  const name = (made) => {
    if (!names.has(made)) {
      const text = expression(made), fresh = `v${names.size}`;
      lines.push(`let ${fresh} = ${text};`);
      names.set(made, fresh);
    }
    return names.get(made);
  };
  const expression = (made) => {
    const step = field.steps[made - 1], {at, width, height, grid} = places[made - 1] || {};
    const [a, b] = step.sources;
    switch (step.type) {
      case 'Dense':
        if (a === COORDINATES) return `coordinate_dense(${at}, here, group)`;
        before.push(multiplied(before.length, sources.indexOf(a), groups(field.widths[a]), at, width));
        return `biased(total_${before.length - 1}[half], entry(${at}, ${width}, ${width - 1}, group))`;
      case 'SineSeries': return `series(${at}, ${width}, ${height === 1 ? '0' : 'group'}, ${name(a)})`;
      case 'Finer': return `finer(${at}, ${name(a)})`;
      case 'Gauss': return `gauss(${at}, ${name(a)})`;
      case 'Relu': return `relu(${name(a)})`;
      case 'Chebyshev':
        lines.push(polynomials(lines.length, sources.indexOf(a), field.widths[a], step.degree));
        return `polynomials_${lines.length - 1}`;
      case 'Window': return `window(${at}, ${width}, here, group)`;
      case 'HashGrid':
        gridded = true;
        return `hash_grid(${at}, ${height}, ${grid}, here, group, ${step.arrays.table.shape[1]}, ${step.smooth}, ${step.levels[0].resolution.length})`;
      case 'Gabor': return `gabor(${at}, ${name(a)}, ${b === undefined ? 'mat4x4f()' : name(b)})`;
      case 'Sum': return `sum(${name(a)}, ${name(b)})`;
      case 'Product': return `product(${name(a)}, ${name(b)})`;
      default: throw new Error(`no formula of ${step.type}`);
    }
  };
  const last = name(value), count = groups(field.widths[value]);
  const inputs = sources.map((_, i) => `@group(0) @binding(${3 + i}) var<storage, read> source_${i}: array<vec4f>;`);
  return `const LANES = ${lanes};
    ${WGSL_LIBRARY}${gridded ? WGSL_GRID : ''}
    @group(0) @binding(2) var<storage, read_write> made: array<vec4f>;
    ${inputs.join('\n')}
    var<workgroup> rows: array<vec4f, ${4 * TILE_QUADS * STEP}>;
    var<workgroup> weights: array<vec4f, ${TILE_GROUPS * 4 * STEP}>;
    @compute @workgroup_size(${TILE_QUADS}, ${TILE_GROUPS / 2}) fn main(
      @builtin(workgroup_id) tile: vec3u, @builtin(local_invocation_id) local: vec3u, @builtin(local_invocation_index) thread: u32) {
      let quad = i32(tile.x) * ${TILE_QUADS} + i32(local.x);
      let first_group = i32(tile.y) * ${TILE_GROUPS};
      ${before.join('\n')}
      let here = place(quad);
      for (var half = 0; half < 2; half++) {
        let group = first_group + 2 * i32(local.y) + half;
        if (group >= ${count} || 4 * quad >= block.rows) { continue; }
        ${lines.join('\n')}
        for (var lane = 0; lane < 4; lane++) { made[(4 * quad + lane) * ${count} + group] = ${last}[lane]; }
      }
    }`;
}

/** Polynomials of a stored value: number n of the result is of neuron n / degree. */
function polynomials(number, source, width, degree) {
  return `var polynomials_${number}: mat4x4f;
        for (var part = 0; part < 4; part++) {
          let made_number = 4 * group + part;
          let neuron = made_number / ${degree};
          if (neuron >= ${width}) { break; }
          var x: vec4f;
          for (var lane = 0; lane < 4; lane++) { x[lane] = source_${source}[(4 * quad + lane) * ${groups(width)} + neuron / 4][neuron % 4]; }
          let t = chebyshev(x, made_number % ${degree} + 1);
          for (var lane = 0; lane < 4; lane++) { polynomials_${number}[lane][part] = t[lane]; }
        }`;
}

/** Rows of a stored value times a matrix, for the two groups of a thread. */
function multiplied(number, source, inputs, table, width) {
  return `var total_${number}: array<mat4x4f, 2>;
      for (var k = 0; k < ${inputs}; k += ${STEP}) {
        workgroupBarrier();
        for (var i = i32(thread); i < ${4 * TILE_QUADS * STEP}; i += ${(TILE_QUADS * TILE_GROUPS) / 2}) {
          let row = i32(tile.x) * ${4 * TILE_QUADS} + i / ${STEP};
          let at = k + i % ${STEP};
          rows[i] = select(vec4f(0.0), source_${source}[min(row, block.rows - 1) * ${inputs} + min(at, ${inputs - 1})], at < ${inputs});
        }
        for (var i = i32(thread); i < ${TILE_GROUPS * 4 * STEP}; i += ${(TILE_QUADS * TILE_GROUPS) / 2}) {
          let group = first_group + i / ${4 * STEP};
          let column = 4 * k + i % ${4 * STEP};
          // Beyond the last input there is the bias, and then the next row: they meet rows of zeros.
          weights[i] = numbers[min(${table} + group * ${width} + column, i32(arrayLength(&numbers)) - 1)];
        }
        workgroupBarrier();
        for (var j = 0; j < ${STEP}; j++) {
          for (var half = 0; half < 2; half++) {
            let start = ((2 * i32(local.y) + half) * ${STEP} + j) * 4;
            let matrix = mat4x4f(weights[start], weights[start + 1], weights[start + 2], weights[start + 3]);
            let row = 4 * i32(local.x) * ${STEP} + j;
            total_${number}[half] += matrix * mat4x4f(rows[row], rows[row + ${STEP}], rows[row + ${2 * STEP}], rows[row + ${3 * STEP}]);
          }
        }
      }`;
}
