// GLSL of the passes. A fragment holds four numbers of a vector (a group) in four lanes, as a mat4 whose column j is
// lane j. The lanes are four points; or one point's value, its derivatives along two directions and its Laplacian; or
// its value and its derivatives along three directions.

const POINTS = 0, SECOND = 1, FIRST = 2;

const VERTEX = `#version 300 es
void main() {
  gl_Position = vec4(gl_VertexID == 1 ? 3.0 : -1.0, gl_VertexID == 2 ? 3.0 : -1.0, 0.0, 1.0);
}`;

const PRECISION = `#version 300 es
precision highp float;
precision highp int;
precision highp sampler2D;
precision highp usampler2D;
`;

// Sines are our own: a GPU's may be wrong by 0.0005, and by far more at large angles. n pi is subtracted in two parts,
// the first of which is exact; the polynomials are the nearest to sine and cosine for |r| <= pi/2.
const ARITHMETIC = `
vec4 reduced(vec4 x, out vec4 parity) {
  vec4 n = round(x * 0.31830987);
  parity = 1.0 - 2.0 * abs(n - 2.0 * round(0.5 * n));
  return (x - n * 3.140625) - n * 0.00096765359;
}
vec4 sine_of(vec4 r) {
  vec4 s = r * r;
  return r * (1.0 + s * (-0.16666648 + s * (0.0083328998 + s * (-0.00019800897 + s * 0.0000025904883))));
}
vec4 cosine_of(vec4 r) {
  vec4 s = r * r;
  return 1.0 + s * (-0.5 + s * (0.041666638 + s * (-0.0013888362 + s * (0.000024760162 - s * 2.6051495e-7))));
}
vec4 sine(vec4 x) {
  vec4 parity, r = reduced(x, parity);
  return parity * sine_of(r);
}
void sine_cosine(vec4 x, out vec4 s, out vec4 c) {
  vec4 parity, r = reduced(x, parity);
  s = parity * sine_of(r);
  c = parity * cosine_of(r);
}
`;

// Where the points of a pass are: point m of a block of rows x columns x samples, relative to the base of the view.
const POSITIONS = `
#ifdef GIVEN
// Points of more than four coordinates are given: those of a lane in two rows.
uniform sampler2D points;
mat4 given(int quad, int part) {
  return mat4(texelFetch(points, ivec2(quad, part), 0), texelFetch(points, ivec2(quad, 2 + part), 0),
    texelFetch(points, ivec2(quad, 4 + part), 0), texelFetch(points, ivec2(quad, 6 + part), 0));
}
mat4 place(int quad) { return given(quad, 0); }
mat4 second_place(int quad) { return given(quad, 1); }
#else
mat4 second_place(int quad) { return mat4(0.0); }
uniform int first, columns, samples;
uniform vec4 origin, along_columns, along_rows, along_samples;
uniform mat3x4 directions;
vec4 position(int n) {
  int m = first + n, s = m % samples, c = (m / samples) % columns, r = m / samples / columns;
  return origin + float(c) * along_columns + float(r) * along_rows + float(s) * along_samples;
}
mat4 place(int quad) {
#if LANES == 0
  return mat4(position(4 * quad), position(4 * quad + 1), position(4 * quad + 2), position(4 * quad + 3));
#else
  return mat4(position(quad), directions[0], directions[1], directions[2]);
#endif
}
#endif
`;

const LAYERS = `
mat4 biased(mat4 a, vec4 bias) {
#if LANES == 0
  return mat4(a[0] + bias, a[1] + bias, a[2] + bias, a[3] + bias);
#else
  return mat4(a[0] + bias, a[1], a[2], a[3]);
#endif
}
vec4 lane(usampler2D values, int quad, int row) { return uintBitsToFloat(texelFetch(values, ivec2(quad, row), 0)); }
vec4 entry(sampler2D table, int column, int row) { return texelFetch(table, ivec2(column, row), 0); }
mat4 block(sampler2D table, int column, int row) {
  return mat4(entry(table, column, row), entry(table, column + 1, row), entry(table, column + 2, row),
    entry(table, column + 3, row));
}
mat4 dense(sampler2D table, usampler2D a, usampler2D b, usampler2D c, usampler2D d, int quad, int group) {
  int count = textureSize(table, 0).x / 4;
  mat4 total = mat4(0.0);
  for (int k = 0; k < count; k++) {
    total += block(table, 4 * k, group) * mat4(lane(a, quad, k), lane(b, quad, k), lane(c, quad, k), lane(d, quad, k));
  }
  return biased(total, entry(table, 4 * count, group));
}
mat4 coordinate_dense(sampler2D table, mat4 here, mat4 there, int group) {
#ifdef GIVEN
  return biased(block(table, 0, group) * here + block(table, 4, group) * there, entry(table, 8, group));
#else
  return biased(block(table, 0, group) * here, entry(table, 4, group));
#endif
}
// f(a) with f, f' and f'' at the value: the chain rule.
mat4 chained(mat4 a, vec4 f, vec4 f1, vec4 f2) {
#if LANES == 1
  return mat4(f, f1 * a[1], f1 * a[2], f1 * a[3] + f2 * (a[1] * a[1] + a[2] * a[2]));
#else
  return mat4(f, f1 * a[1], f1 * a[2], f1 * a[3]);
#endif
}
mat4 sum(mat4 a, mat4 b) { return a + b; }
mat4 product(mat4 a, mat4 b) {
#if LANES == 0
  return matrixCompMult(a, b);
#elif LANES == 1
  return mat4(a[0] * b[0], a[0] * b[1] + a[1] * b[0], a[0] * b[2] + a[2] * b[0],
    a[0] * b[3] + a[3] * b[0] + 2.0 * (a[1] * b[1] + a[2] * b[2]));
#else
  return mat4(a[0] * b[0], a[0] * b[1] + a[1] * b[0], a[0] * b[2] + a[2] * b[0], a[0] * b[3] + a[3] * b[0]);
#endif
}
`;

const ACTIVATIONS = `
mat4 series(sampler2D table, mat4 a, int group) {
  ivec2 size = textureSize(table, 0);
  int row = size.y == 1 ? 0 : group, last = size.x - 1;
  vec4 offset = entry(table, last, row);
#if LANES == 0
  mat4 total = mat4(offset, offset, offset, offset);
  for (int t = 0; t < last; t += 3) {
    vec4 c = entry(table, t, row), omega = entry(table, t + 1, row), phi = entry(table, t + 2, row);
    total[0] += c * sine(omega * a[0] + phi);
    total[1] += c * sine(omega * a[1] + phi);
    total[2] += c * sine(omega * a[2] + phi);
    total[3] += c * sine(omega * a[3] + phi);
  }
  return total;
#else
  vec4 f = offset, f1 = vec4(0.0), f2 = vec4(0.0), s, c;
  for (int t = 0; t < last; t += 3) {
    vec4 amplitude = entry(table, t, row), omega = entry(table, t + 1, row);
    sine_cosine(omega * a[0] + entry(table, t + 2, row), s, c);
    f += amplitude * s;
    f1 += amplitude * omega * c;
    f2 -= amplitude * omega * omega * s;
  }
  return chained(a, f, f1, f2);
#endif
}
mat4 finer(sampler2D table, mat4 a, int group) {
  float omega = entry(table, 0, 0).x;
#if LANES == 0
  return mat4(sine(omega * (abs(a[0]) + 1.0) * a[0]), sine(omega * (abs(a[1]) + 1.0) * a[1]),
    sine(omega * (abs(a[2]) + 1.0) * a[2]), sine(omega * (abs(a[3]) + 1.0) * a[3]));
#else
  vec4 x = a[0], inner = omega * (2.0 * abs(x) + 1.0), s, c;
  sine_cosine(omega * (abs(x) + 1.0) * x, s, c);
  return chained(a, s, c * inner, 2.0 * omega * sign(x) * c - inner * inner * s);
#endif
}
mat4 gauss(sampler2D table, mat4 a, int group) {
  float sigma = entry(table, 0, 0).x, k = sigma * sigma;
#if LANES == 0
  return mat4(exp(-k * a[0] * a[0]), exp(-k * a[1] * a[1]), exp(-k * a[2] * a[2]), exp(-k * a[3] * a[3]));
#else
  vec4 x = a[0], f = exp(-k * x * x);
  return chained(a, f, -2.0 * k * x * f, (4.0 * k * k * x * x - 2.0 * k) * f);
#endif
}
mat4 relu(mat4 a) {
#if LANES == 0
  return mat4(max(a[0], 0.0), max(a[1], 0.0), max(a[2], 0.0), max(a[3], 0.0));
#else
  return chained(a, max(a[0], 0.0), step(0.0, a[0]), vec4(0.0));
#endif
}
// Density and colours, from their logarithm and logits.
mat4 radiance(mat4 a, int group) {
  bvec4 density = bvec4(group == 0, false, false, false);
#if LANES == 0
  for (int lane = 0; lane < 4; lane++) a[lane] = mix(1.0 / (1.0 + exp(-a[lane])), exp(min(a[lane], LARGEST)), density);
  return a;
#else
  vec4 s = 1.0 / (1.0 + exp(-a[0])), e = exp(min(a[0], LARGEST)), grown = e * step(a[0], vec4(LARGEST));
  return chained(a, mix(s, e, density), mix(s * (1.0 - s), grown, density), mix(s * (1.0 - s) * (1.0 - 2.0 * s), grown, density));
#endif
}
// T_1 to T_degree of tanh x: number n of the result is of neuron n / degree.
mat4 chebyshev(usampler2D a, usampler2D b, usampler2D c, usampler2D d, int quad, int group, int degree, int count) {
  mat4 made = mat4(0.0);
  for (int part = 0; part < 4; part++) {
    int number = 4 * group + part, i = number / degree, wanted = number % degree + 1;
    if (i >= count) break;
    vec4 x = vec4(lane(a, quad, i / 4)[i % 4], lane(b, quad, i / 4)[i % 4], lane(c, quad, i / 4)[i % 4], lane(d, quad, i / 4)[i % 4]);
#if LANES == 0
    vec4 u = tanh(clamp(x, -10.0, 10.0)), before = vec4(1.0), t = u;
    for (int k = 1; k < wanted; k++) {
      vec4 next = 2.0 * u * t - before;
      before = t;
      t = next;
    }
    for (int lane = 0; lane < 4; lane++) made[lane][part] = t[lane];
#else
    // Values, slopes and bends of the polynomials, then the chain rule for tanh.
    float u = tanh(clamp(x.x, -10.0, 10.0)), slope = 1.0 - u * u;
    vec3 before = vec3(1.0, 0.0, 0.0), t = vec3(u, 1.0, 0.0);
    for (int k = 1; k < wanted; k++) {
      vec3 next = 2.0 * u * t + vec3(0.0, 2.0 * t.x, 4.0 * t.y) - before;
      before = t;
      t = next;
    }
    float f1 = t.y * slope, f2 = t.z * slope * slope - 2.0 * u * slope * t.y;
    made[0][part] = t.x;
    for (int lane = 1; lane < 4; lane++) made[lane][part] = f1 * x[lane];
    if (LANES == 1) made[3][part] += f2 * (x.y * x.y + x.z * x.z);
#endif
  }
  return made;
}
// exp(-sharpness |x - centre|^2 / 2); the table holds base - centre, coordinate by coordinate, then the sharpness.
mat4 window(sampler2D table, mat4 here, int group) {
  int count = textureSize(table, 0).x - 1;
  vec4 sharpness = entry(table, count, group);
  mat4 e = mat4(0.0);
  for (int k = 0; k < count; k++) {
    vec4 centre = entry(table, k, group);
#if LANES == 0
    vec4 a = centre + here[0][k], b = centre + here[1][k], c = centre + here[2][k], d = centre + here[3][k];
    e += mat4(a * a, b * b, c * c, d * d);
#else
    vec4 away = centre + here[0][k];
    e[0] += away * away;
    e[1] += 2.0 * away * here[1][k];
    e[2] += 2.0 * away * here[2][k];
#if LANES == 1
    e[3] += vec4(2.0 * (here[1][k] * here[1][k] + here[2][k] * here[2][k]));
#else
    e[3] += 2.0 * away * here[3][k];
#endif
#endif
  }
  vec4 half_sharp = -0.5 * sharpness;
#if LANES == 0
  return mat4(exp(half_sharp * e[0]), exp(half_sharp * e[1]), exp(half_sharp * e[2]), exp(half_sharp * e[3]));
#else
  mat4 scaled = mat4(half_sharp * e[0], half_sharp * e[1], half_sharp * e[2], half_sharp * e[3]);
  vec4 f = exp(scaled[0]);
  return chained(scaled, f, f, f);
#endif
}
`;

// Complex numbers are pairs: (Re, Im, Re, Im).
const GABOR = `
vec4 times(vec4 a, vec4 b) { return vec4(a.xz * b.xz - a.yw * b.yw, a.xz * b.yw + a.yw * b.xz).xzyw; }
vec4 paired(vec4 a) { return a + a.yxwz; }
vec4 gabor_value(float omega, float k, vec4 z, vec4 square) {
  vec4 envelope = exp(-k * square - omega * z.yyww);
  return envelope * sine(omega * z.xxzz + vec4(1.5707964, 0.0, 1.5707964, 0.0));
}
mat4 gabor_of(sampler2D table, mat4 z, mat4 w) {
  float omega = entry(table, 0, 0).x, sigma = entry(table, 0, 0).y, k = sigma * sigma;
#if LANES == 0
  return mat4(gabor_value(omega, k, z[0], paired(z[0] * z[0] + w[0] * w[0])),
    gabor_value(omega, k, z[1], paired(z[1] * z[1] + w[1] * w[1])),
    gabor_value(omega, k, z[2], paired(z[2] * z[2] + w[2] * w[2])),
    gabor_value(omega, k, z[3], paired(z[3] * z[3] + w[3] * w[3])));
#else
  // y = exp(h), h = -k (|z|^2 + |w|^2) + i omega z, as pairs; y' = y h', y'' = y (h'' + h'^2).
  vec4 y = gabor_value(omega, k, z[0], paired(z[0] * z[0] + w[0] * w[0]));
  mat4 h = mat4(0.0);
  for (int j = 1; j < 4; j++) {
    vec4 slope = -2.0 * k * paired(z[0] * z[j] + w[0] * w[j]) - omega * z[j].yyww;
    h[j] = vec4(slope.x, omega * z[j].x, slope.z, omega * z[j].z);
  }
#if LANES == 1
  vec4 bend = -2.0 * k * paired(z[1] * z[1] + z[2] * z[2] + w[1] * w[1] + w[2] * w[2]);
  h[3] += vec4(bend.x, 0.0, bend.z, 0.0) + times(h[1], h[1]) + times(h[2], h[2]);
#endif
  return mat4(y, times(y, h[1]), times(y, h[2]), times(y, h[3]));
#endif
}
mat4 gabor(sampler2D table, mat4 z, int group) { return gabor_of(table, z, mat4(0.0)); }
mat4 gabor_planar(sampler2D table, mat4 z, mat4 w, int group) { return gabor_of(table, z, w); }
`;

// Features of a hash grid. A place is that of the base plus the way from there, so that float32 is enough at any zoom.
const GRID = `
float grid_number(sampler2D grid, uint index) {
  uint texel = index >> 2;
  return texelFetch(grid, ivec2(int(texel % 2048u), int(texel / 2048u)), 0)[index & 3u];
}
uint grid_row(uvec4 vertex, uvec4 cells, vec4 about, int axes) {
  const uint primes[4] = uint[4](1u, 2654435761u, 805459861u, 3674653429u);
  uint row = 0u;
  bool dense = about.w > 0.5;
  for (int k = 0; k < axes; k++) {
    row = dense ? row * (cells[k] + 1u) + vertex[k] : row ^ (vertex[k] * primes[axes - 1 - k]);
  }
  if (!dense) row &= (1u << uint(about.z)) - 1u;
  return row + uint(about.x) + 65536u * uint(about.y);
}
// Weights of a corner: of four points, or of one point with its derivatives.
vec4 weighed(vec4 a, vec4 b) {
#if LANES == 0
  return a * b;
#elif LANES == 1
  return vec4(a.x * b.x, a.x * b.y + a.y * b.x, a.x * b.z + a.z * b.x, a.x * b.w + a.w * b.x + 2.0 * (a.y * b.y + a.z * b.z));
#else
  return vec4(a.x * b.x, a.x * b.y + a.y * b.x, a.x * b.z + a.z * b.x, a.x * b.w + a.w * b.x);
#endif
}
mat4 hash_grid(sampler2D levels, sampler2D grid, mat4 here, int group, int features, bool smoothly, int axes) {
  mat4 made = mat4(0.0);
  for (int c = 0; c < 4; c++) {
    int number = 4 * group + c, level = number / features;
    if (level >= textureSize(levels, 0).y) break;
    vec4 cells = entry(levels, 0, level), cell0 = entry(levels, 1, level), place0 = entry(levels, 2, level);
    vec4 about = entry(levels, 3, level);
    // Cells of the lanes, and how far in each the lane is, axis by axis.
    vec4 cell[4], s[4];
    for (int lane = 0; lane < 4; lane++) {
      vec4 place = clamp(place0 + 0.5 * cells * here[LANES == 0 ? lane : 0], -cell0, cells - cell0);
      cell[lane] = min(floor(place), cells - 1.0 - cell0);
      s[lane] = place - cell[lane];
    }
    for (int corner = 0; corner < (1 << axes); corner++) {
      vec4 weight = LANES == 0 ? vec4(1.0) : vec4(1.0, 0.0, 0.0, 0.0);
      for (int k = 0; k < axes; k++) {
        float side = ((corner >> k) & 1) == 1 ? 1.0 : -1.0;
        vec4 t = vec4(s[0][k], s[1][k], s[2][k], s[3][k]);
        vec4 w = smoothly ? t * t * (3.0 - 2.0 * t) : t;
#if LANES == 0
        weight *= side > 0.0 ? w : 1.0 - w;
#else
        float slope = side * (smoothly ? 6.0 * t.x * (1.0 - t.x) : 1.0), bend = side * (smoothly ? 6.0 - 12.0 * t.x : 0.0);
        vec3 along = 0.5 * cells[k] * vec3(here[1][k], here[2][k], here[3][k]);
        float last = LANES == 1 ? bend * (along.x * along.x + along.y * along.y) : slope * along.z;
        weight = weighed(weight, vec4(side > 0.0 ? w.x : 1.0 - w.x, slope * along.x, slope * along.y, last));
#endif
      }
      uvec4 bits = uvec4(corner & 1, (corner >> 1) & 1, (corner >> 2) & 1, (corner >> 3) & 1);
#if LANES == 0
      for (int lane = 0; lane < 4; lane++) {
        uint row = grid_row(uvec4(cell0 + cell[lane]) + bits, uvec4(cells), about, axes);
        made[lane][c] += weight[lane] * grid_number(grid, row * uint(features) + uint(number % features));
      }
#else
      uint row = grid_row(uvec4(cell0 + cell[0]) + bits, uvec4(cells), about, axes);
      float value = grid_number(grid, row * uint(features) + uint(number % features));
      for (int lane = 0; lane < 4; lane++) made[lane][c] += weight[lane] * value;
#endif
    }
  }
  return made;
}
`;

/** Whether the points of a field are given one by one, because they have more coordinates than a texel. */
function isGiven(field) {
  return field.inputs > 4;
}

/**
 * The passes of a network: each makes a value that another layer reads, or the output. A pass names its program's
 * text, the steps whose tables it reads and the values whose lanes it reads, in the order of the samplers.
 */
function passesOf(field, lanes) {
  const stored = new Set([field.steps.length]);
  for (const step of field.steps) {
    const reads = step.type === 'Dense' || step.type === 'Chebyshev';
    if (reads && step.sources[0] !== COORDINATES) stored.add(step.sources[0]);
  }
  return [...stored].sort((a, b) => a - b).map((value) => passOf(field, value, lanes));
}

function passOf(field, value, lanes) {
  const tables = [], grids = [], sources = [], lines = [], names = new Map();
  const table = (index) => `table_${tables.push(index) - 1}`;
  const lanesOf = (source) => {
    if (!sources.includes(source)) sources.push(source);
    const at = sources.indexOf(source);
    return [0, 1, 2, 3].map((lane) => `lanes_${at}_${lane}`).join(', ');
  };
  const name = (made) => {
    if (!names.has(made)) {
      const text = expression(made), fresh = `v${names.size}`;
      lines.push(`mat4 ${fresh} = ${text};`);
      names.set(made, fresh);
    }
    return names.get(made);
  };
  const expression = (made) => {
    const step = field.steps[made - 1], index = made - 1;
    const [a, b] = step.sources;
    switch (step.type) {
      case 'Dense':
        return a === COORDINATES
          ? `coordinate_dense(${table(index)}, here, there, group)`
          : `dense(${table(index)}, ${lanesOf(a)}, quad, group)`;
      case 'SineSeries': return `series(${table(index)}, ${name(a)}, group)`;
      case 'Finer': return `finer(${table(index)}, ${name(a)}, group)`;
      case 'Gauss': return `gauss(${table(index)}, ${name(a)}, group)`;
      case 'Relu': return `relu(${name(a)})`;
      case 'Window': return `window(${table(index)}, here, group)`;
      case 'HashGrid': {
        const grid = `grid_${grids.push(index) - 1}`;
        return `hash_grid(${table(index)}, ${grid}, here, group, ${step.arrays.table.shape[1]}, ${step.smooth}, ${step.levels[0].resolution.length})`;
      }
      case 'Chebyshev': return `chebyshev(${lanesOf(a)}, quad, group, ${step.degree}, ${field.widths[a]})`;
      case 'Radiance': return `radiance(${name(a)}, group)`;
      case 'Gabor':
        return b === undefined
          ? `gabor(${table(index)}, ${name(a)}, group)`
          : `gabor_planar(${table(index)}, ${name(a)}, ${name(b)}, group)`;
      case 'Sum': return `sum(${name(a)}, ${name(b)})`;
      case 'Product': return `product(${name(a)}, ${name(b)})`;
      default: throw new Error(`this page has no formula of ${step.type}`);
    }
  };
  const last = name(value);
  const samplers = tables.map((_, i) => `uniform sampler2D table_${i};`);
  sources.forEach((_, i) => [0, 1, 2, 3].forEach((lane) => samplers.push(`uniform usampler2D lanes_${i}_${lane};`)));
  grids.forEach((_, i) => samplers.push(`uniform sampler2D grid_${i};`));
  const complex = lines.some((line) => line.includes('gabor'));
  const text = [
    PRECISION, `#define LANES ${lanes}`, `#define LARGEST ${LARGEST_LOG_DENSITY.toFixed(1)}`, isGiven(field) ? '#define GIVEN' : '', ...samplers, ARITHMETIC, POSITIONS, LAYERS, ACTIVATIONS, complex ? GABOR : '',
    grids.length ? GRID : '',
    ...[0, 1, 2, 3].map((lane) => `layout(location = ${lane}) out uvec4 out_${lane};`),
    'void main() {',
    '  int quad = int(gl_FragCoord.x), group = int(gl_FragCoord.y);',
    '  mat4 here = place(quad), there = second_place(quad);',
    ...lines.map((line) => `  ${line}`),
    ...[0, 1, 2, 3].map((lane) => `  out_${lane} = floatBitsToUint(${last}[${lane}]);`),
    '}',
  ].join('\n');
  return {value, text, tables, grids, sources};
}
