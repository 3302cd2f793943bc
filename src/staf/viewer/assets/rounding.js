// The ends of a shape of voxels. Its box ends with the outermost voxels that are inside, so no field has learnt where the
// surface turns back beyond them: a ball of few voxels would be cut off flat at six places. What lies beyond the box is
// outside, and voxels tell where a surface is to about one of them: near the ends values are averaged over that much.

const REACH = 2.5;

/** Average a grid near the six sides of its box over about one voxel, of which an axis has `voxels[axis]`. */
function* rounded(grid, voxels, outside) {
  const each = grid.counts.map((count, axis) => count / voxels[axis]);
  // Samples that are hardly finer than the voxels are closed by `close`.
  if (Math.min(...each) < 2) return;
  for (let axis = 0; axis < 3; axis++) {
    for (const far of [false, true]) yield* roundedSide(grid, each, axis, far, outside);
  }
}

function* roundedSide(grid, each, axis, far, outside) {
  if (!reaches(grid, axis, far)) return;
  const {counts} = grid, depth = Math.min(counts[axis], Math.ceil((REACH + 2) * each[axis]));
  const size = counts.map((count, k) => (k === axis ? depth : count));
  const first = [0, 0, 0];
  if (far) first[axis] = counts[axis] - depth;
  let part = new Float32Array(size[0] * size[1] * size[2]), at = 0;
  for (let i = 0; i < size[0]; i++) {
    for (let j = 0; j < size[1]; j++) {
      const from = grid.at(first[0] + i, first[1] + j, first[2]);
      part.set(grid.values.subarray(from, from + size[2]), at);
      at += size[2];
    }
  }
  for (let k = 0; k < 3; k++) {
    part = averaged(part, size, k, Math.round(0.75 * each[k]), outside);
    yield CPU;
  }
  const share = counts.map((count, k) => nearness(count, each[k]));
  at = 0;
  for (let i = 0; i < size[0]; i++) {
    for (let j = 0; j < size[1]; j++) {
      for (let k = 0, to = grid.at(first[0] + i, first[1] + j, first[2]); k < size[2]; k++, to++, at++) {
        const near = [share[0][first[0] + i], share[1][first[1] + j], share[2][first[2] + k]];
        let weight = near[axis];
        // What an earlier axis has averaged is not averaged again, so that edges stay edges.
        for (let before = 0; before < axis; before++) weight *= 1 - near[before];
        grid.values[to] += weight * (part[at] - grid.values[to]);
      }
    }
  }
}

/** How much of the average counts for the samples of an axis: all up to a voxel from an end, nothing from `REACH` on. */
function nearness(count, each) {
  return Float32Array.from({length: count}, (_, n) => {
    const away = (Math.min(n, count - 1 - n) + 0.5) / each, share = Math.min(1, Math.max(0, (REACH - away) / (REACH - 1)));
    return share * share * (3 - 2 * share);
  });
}

/** Whether the shape reaches a side of its box. */
function reaches(grid, axis, far) {
  const [p, q] = [0, 1, 2].filter((other) => other !== axis), place = [0, 0, 0];
  if (far) place[axis] = grid.counts[axis] - 1;
  for (place[p] = 0; place[p] < grid.counts[p]; place[p]++) {
    for (place[q] = 0; place[q] < grid.counts[q]; place[q]++) if (grid.values[grid.at(...place)] > 0) return true;
  }
  return false;
}

/** Means of 2 half + 1 means of 2 half + 1 numbers along an axis; beyond the ends all numbers are `outside`. */
function averaged(values, size, axis, half, outside) {
  const along = [size[1] * size[2], size[2], 1], step = along[axis], length = size[axis], width = 2 * half + 1;
  const [p, q] = [0, 1, 2].filter((other) => other !== axis), out = new Float32Array(values.length);
  const line = new Float32Array(length + 2 * (width - 1)).fill(outside);
  for (let i = 0; i < size[p]; i++) {
    for (let j = 0; j < size[q]; j++) {
      const first = i * along[p] + j * along[q];
      for (let n = 0, at = first; n < length; n++, at += step) line[width - 1 + n] = values[at];
      const means = runningMeans(runningMeans(line, width), width);
      for (let n = 0, at = first; n < length; n++, at += step) out[at] = means[n];
    }
  }
  return out;
}

function runningMeans(line, width) {
  const means = new Float32Array(line.length - width + 1);
  let total = 0;
  for (let n = 0; n < line.length; n++) {
    total += line[n];
    if (n < width - 1) continue;
    means[n - width + 1] = total / width;
    total -= line[n - width + 1];
  }
  return means;
}
