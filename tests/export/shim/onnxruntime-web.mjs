// The part of onnxruntime-web's interface that the how-to page uses: what a session is given is written to a file.
import {readFileSync, writeFileSync} from 'node:fs';

const {input, output, columns} = JSON.parse(readFileSync('names.json', 'utf8'));

export class Tensor {
  constructor(type, data, dims) {
    if (type !== 'float32' || !(data instanceof Float32Array) || data.length !== dims[0] * dims[1]) throw new Error('tensor');
    Object.assign(this, {data, dims});
  }
}

export class InferenceSession {
  static async create(path) {
    readFileSync(path);
    return new InferenceSession();
  }

  async run(feeds) {
    if (Object.keys(feeds).join() !== input || feeds[input].dims[1] !== columns) throw new Error('feeds');
    writeFileSync('points.bin', feeds[input].data);
    return {[output]: feeds[input]};
  }
}
