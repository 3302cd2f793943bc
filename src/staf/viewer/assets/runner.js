// Work cut into slices: jobs are generators that yield after each slice, so that the page never freezes.

// What a job yields: a tile was given to the card; a piece of work was done here; or it waits for the card.
const GPU = 'gpu', CPU = 'cpu', WAIT = 'wait';
// The card gets about this much work at a time, in milliseconds, so that it can draw the page between.
const SLICE = 12;

class Runner {
  constructor(gl, engine) {
    this.gl = gl;
    this.engine = engine;
    this.jobs = new Map();
    this.fences = [];
    this.batch = 1;
    this.settling = 4;
    this.scheduled = false;
    this.waiting = [];
    this.channel = new MessageChannel();
    this.channel.port1.onmessage = () => {
      this.scheduled = false;
      this.#tick();
    };
    this.onStart = () => {};
    this.onSlice = () => {};
    this.onError = (error) => { throw error; };
  }

  /** Start a job, in place of an earlier one of that name. Jobs run in the order of their `rank`. */
  start(name, rank, job) {
    this.jobs.set(name, {rank, job});
    this.onStart();
    this.#schedule(0);
  }

  stop(name) {
    this.jobs.delete(name);
  }

  /** A promise that no work is left. */
  idle() {
    return new Promise((done) => {
      this.waiting.push(done);
      this.#schedule(0);
    });
  }

  /** Larger tiles, then more of them at a time, while the card is quick; fewer and smaller ones when it is not. */
  #adapt(taken) {
    // The first slices take longer, because programs are compiled.
    if (this.settling > 0) {
      this.settling -= 1;
      return;
    }
    const {engine} = this;
    if (taken < SLICE) {
      if (engine.limit < engine.quads) engine.limit *= 2;
      else this.batch = Math.min(64, this.batch + Math.ceil(this.batch / 2));
    } else if (taken > 2 * SLICE && this.batch > 1) this.batch = Math.floor(this.batch / 2);
    else if (taken > 8 * SLICE) engine.limit = Math.max(64, engine.limit / 2);
  }

  #schedule(delay) {
    if (this.scheduled) return;
    this.scheduled = true;
    // Timers wait for four milliseconds at least; a message does not.
    if (delay) setTimeout(() => this.channel.port2.postMessage(0), delay);
    else this.channel.port2.postMessage(0);
  }

  #tick() {
    while (this.fences.length && signalled(this.gl, this.fences[0].fence)) {
      const {fence, started} = this.fences.shift();
      this.gl.deleteSync(fence);
      const taken = performance.now() - started;
      this.#adapt(taken);
    }
    let busy = false;
    if (this.fences.length < 2) {
      const started = performance.now();
      let tiles = 0;
      for (const [name, entry] of [...this.jobs].sort((a, b) => a[1].rank - b[1].rank)) {
        let waited = false;
        while (!waited && tiles < this.batch && performance.now() - started < SLICE) {
          if (this.jobs.get(name) !== entry) break;
          let slice;
          try {
            slice = entry.job.next();
          } catch (error) {
            this.jobs.delete(name);
            this.onError(error);
            break;
          }
          if (slice.done) {
            if (this.jobs.get(name) === entry) this.jobs.delete(name);
            break;
          }
          if (slice.value === GPU) tiles += 1;
          waited = slice.value === WAIT;
        }
        busy ||= !waited;
      }
      if (tiles) {
        this.fences.push({fence: this.gl.fenceSync(this.gl.SYNC_GPU_COMMANDS_COMPLETE, 0), started});
        this.gl.flush();
      }
      this.onSlice();
    }
    if (this.jobs.size || this.fences.length) this.#schedule(busy && this.fences.length < 2 ? 0 : 2);
    else this.waiting.splice(0).forEach((done) => done());
  }
}
