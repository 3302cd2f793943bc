// A surface as triangles, by surface nets: one vertex in each cell that the surface crosses, where its edges are crossed
// on average, and a quad for each edge of the grid that is crossed.

/** A grid of numbers, above 0 inside of a shape, with one layer around it that is outside. */
class PaddedGrid {
  constructor(counts) {
    this.counts = counts;
    this.size = counts.map((count) => count + 2);
    this.values = new Float32Array(this.size[0] * this.size[1] * this.size[2]);
  }

  /**
   * Fill the layer around: as the last two numbers lead to expect, and as far outside as the last is inside, at least.
   * A shape that reaches the box is closed where the box ends, or sooner, as the library's own meshes are.
   */
  close() {
    const {size, values} = this, along = [size[1] * size[2], size[2], 1];
    for (const axis of [2, 1, 0]) {
      const [p, q] = [0, 1, 2].filter((other) => other !== axis), step = along[axis], end = (size[axis] - 1) * step;
      const further = size[axis] > 3 ? 2 * step : step;
      for (let i = 0; i < size[p]; i++) {
        for (let j = 0; j < size[q]; j++) {
          const first = i * along[p] + j * along[q], last = first + end;
          values[first] = beyond(values[first + step], values[first + further]);
          values[last] = beyond(values[last - step], values[last - further]);
        }
      }
    }
  }

  at(i, j, k) {
    return ((i + 1) * this.size[1] + j + 1) * this.size[2] + k + 1;
  }
}

const beyond = (last, before) => Math.min(2 * last - before, -Math.abs(last));

/** Vertices (in samples of the grid) and triangles of the surface where values are 0. */
function* surfaceNets(grid) {
  const [a, b, c] = grid.size, values = grid.values, along = [b * c, c, 1];
  const vertices = [], triangles = [];
  let before = new Int32Array(b * c).fill(-1), layer = new Int32Array(b * c).fill(-1);
  const quad = (p, q, r, s, flip) => {
    if (flip) triangles.push(p, r, q, p, s, r);
    else triangles.push(p, q, r, p, r, s);
  };
  for (let i = 0; i < a - 1; i++) {
    [before, layer] = [layer, before];
    layer.fill(-1);
    for (let j = 0; j < b - 1; j++) {
      for (let k = 0; k < c - 1; k++) {
        const at = i * along[0] + j * c + k;
        const vertex = cellVertex(values, at, along);
        if (!vertex) continue;
        layer[j * c + k] = vertices.length / 3;
        vertices.push(i + vertex[0] - 1, j + vertex[1] - 1, k + vertex[2] - 1);
      }
    }
    for (let j = 0; j < b - 1; j++) {
      for (let k = 0; k < c - 1; k++) {
        const at = i * along[0] + j * c + k, inside = values[at] > 0, here = j * c + k;
        if (j > 0 && k > 0 && inside !== values[at + along[0]] > 0) {
          quad(layer[here - c - 1], layer[here - 1], layer[here], layer[here - c], !inside);
        }
        if (i > 0 && k > 0 && inside !== values[at + c] > 0) {
          quad(before[here - 1], before[here], layer[here], layer[here - 1], !inside);
        }
        if (i > 0 && j > 0 && inside !== values[at + 1] > 0) {
          quad(before[here - c], layer[here - c], layer[here], before[here], !inside);
        }
      }
    }
    if (i % 4 === 3) yield CPU;
  }
  return {vertices: Float32Array.from(vertices), triangles: Uint32Array.from(triangles)};
}

const CORNERS = Array.from({length: 8}, (_, n) => [n & 1, (n >> 1) & 1, n >> 2]);
const EDGES = CORNERS.flatMap((corner, n) => [0, 1, 2].filter((k) => !corner[k]).map((k) => [n, n | (1 << k), k]));

/** Where the edges of a cell are crossed, on average; null if none is. */
function cellVertex(values, at, along) {
  let inside = 0;
  const corner = CORNER_VALUES;
  for (let n = 0; n < 8; n++) {
    corner[n] = values[at + (n & 1) * along[0] + ((n >> 1) & 1) * along[1] + (n >> 2)];
    inside += corner[n] > 0;
  }
  if (inside === 0 || inside === 8) return null;
  const total = [0, 0, 0];
  let crossed = 0;
  for (const [p, q, k] of EDGES) {
    if (corner[p] > 0 === corner[q] > 0) continue;
    const t = corner[p] / (corner[p] - corner[q]);
    crossed += 1;
    for (let axis = 0; axis < 3; axis++) total[axis] += axis === k ? t : CORNERS[p][axis];
  }
  return total.map((sum) => sum / crossed);
}

const CORNER_VALUES = new Float32Array(8);

/** Normals of vertices: sums of those of the triangles around them, by area. */
function normalsOf(vertices, triangles) {
  const normals = new Float32Array(vertices.length);
  for (let t = 0; t < triangles.length; t += 3) {
    const [p, q, r] = [3 * triangles[t], 3 * triangles[t + 1], 3 * triangles[t + 2]];
    const ux = vertices[q] - vertices[p], uy = vertices[q + 1] - vertices[p + 1], uz = vertices[q + 2] - vertices[p + 2];
    const vx = vertices[r] - vertices[p], vy = vertices[r + 1] - vertices[p + 1], vz = vertices[r + 2] - vertices[p + 2];
    const n = [uy * vz - uz * vy, uz * vx - ux * vz, ux * vy - uy * vx];
    for (const at of [p, q, r]) for (let k = 0; k < 3; k++) normals[at + k] += n[k];
  }
  return normals;
}

const BLOCK = 16;

/**
 * How far a field is above its level (or below it, where lower values are inside) on a finer grid, evaluated in blocks
 * that the surface may cross by the coarser one; elsewhere the coarser values stand. Without a coarser grid all blocks
 * are evaluated.
 */
function* refined(engine, counts, coarse, report) {
  const grid = new PaddedGrid(counts), wanted = [], {meaning, view} = engine.field.about;
  const {value_offset: offset, value_scale: scale, value_range: [low, high]} = meaning, most = high - low;
  const sign = view.inside === 'below' ? -1 : 1;
  for (let i = 0; i < counts[0]; i += BLOCK) {
    for (let j = 0; j < counts[1]; j += BLOCK) {
      for (let k = 0; k < counts[2]; k += BLOCK) {
        const corner = [i, j, k], size = corner.map((at, axis) => Math.min(BLOCK, counts[axis] - at));
        const same = coarse && uniformSide(coarse, counts, corner, size);
        if (same === null || !coarse) wanted.push({corner, size});
        else fillBlock(grid, corner, size, () => same);
      }
    }
    yield CPU;
  }
  const group = 16;
  for (let at = 0; at < wanted.length; at += group) {
    const part = wanted.slice(at, at + group);
    const blocks = part.map(({corner, size}) => ({block: blockOf(counts, corner, size), total: size[0] * size[1] * size[2]}));
    const results = yield* engine.readAll(blocks);
    results.forEach(([values], n) => {
      let m = 0;
      fillBlock(grid, part[n].corner, part[n].size, () => Math.min(most, Math.max(-most, sign * (offset + scale * values[m++] - view.level))));
    });
    report(Math.min(1, (at + group) / wanted.length));
  }
  // Signed distances go on beyond the box; voxels do not.
  if (sign > 0) yield* rounded(grid, engine.field.about.shape, low - view.level);
  grid.close();
  return grid;
}

function fillBlock(grid, [i0, j0, k0], [a, b, c], value) {
  for (let i = i0; i < i0 + a; i++) {
    for (let j = j0; j < j0 + b; j++) {
      for (let k = k0, at = grid.at(i, j, k0); k < k0 + c; k++, at++) grid.values[at] = value();
    }
  }
}

/** The value of the coarser grid in and around a block, if all of it lies on one side of the surface; else null. */
function uniformSide(coarse, counts, corner, size) {
  const range = corner.map((at, axis) => {
    const ratio = coarse.counts[axis] / counts[axis];
    return [Math.floor(at * ratio) - 1, Math.ceil((at + size[axis]) * ratio)];
  }).map(([low, high], axis) => [Math.max(-1, low), Math.min(coarse.counts[axis], high)]);
  const first = coarse.values[coarse.at(range[0][0], range[1][0], range[2][0])];
  for (let i = range[0][0]; i <= range[0][1]; i++) {
    for (let j = range[1][0]; j <= range[1][1]; j++) {
      for (let k = range[2][0]; k <= range[2][1]; k++) {
        if (coarse.values[coarse.at(i, j, k)] > 0 !== first > 0) return null;
      }
    }
  }
  return first;
}

/** The points of a block of a grid's cell centres, for the engine: the last axis first. */
function blockOf(counts, corner, size) {
  const step = counts.map((count) => 2 / count), axis = (k) => [0, 1, 2].map((j) => (j === k ? step[k] : 0));
  return {
    base: corner.map((at, k) => -1 + (at + 0.5) * step[k]), origin: [0, 0, 0],
    alongRows: axis(0), alongColumns: axis(1), alongSamples: axis(2), columns: size[1], samples: size[2],
  };
}
