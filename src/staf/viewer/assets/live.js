// A page that is served: it asks for its field, takes every new version, and shows the fit that makes them.

/** Description and numbers of a field from the bytes of a server. */
function unpacked(buffer) {
  const length = new DataView(buffer).getUint32(0, true);
  const description = JSON.parse(new TextDecoder().decode(new Uint8Array(buffer, 4, length)));
  return [description, new Uint8Array(buffer, 4 + length)];
}

async function fetched(what) {
  const answer = await fetch(what, {cache: 'no-store'});
  if (!answer.ok) throw new Sentence(await answer.text() || 'The server of this page has no such field any more.');
  return answer.arrayBuffer();
}

class Live {
  constructor(app) {
    this.app = app;
    this.version = null;
    this.events = new EventSource('events');
    this.events.onmessage = (event) => this.#heard(JSON.parse(event.data));
    this.events.onerror = () => {
      this.events.close();
      app.status('The server has ended: this is the last field it sent.');
      if (this.button) this.button.disabled = true;
    };
  }

  async #heard(news) {
    if (news.live) this.#training(news);
    // The field that the page began with is the first version.
    const changed = this.version !== null && news.version !== this.version;
    this.version = news.version;
    if (!changed || this.asking) return;
    this.asking = true;
    try {
      let asked;
      do {
        asked = this.version;
        this.app.replace(...unpacked(await fetched('field')));
        // Each version is drawn before the next is asked for, however slow the card.
        await this.app.runner.idle();
      } while (asked !== this.version);
    } finally {
      this.asking = false;
    }
  }

  #build() {
    this.curve = element('canvas', {class: 'curve', role: 'img', 'aria-label': 'Decibels over the steps'});
    this.numbers = element('output', {class: 'place'});
    this.button = button('Stop and keep', 'End the training now and keep what was learnt', async () => {
      this.button.disabled = true;
      await fetch('stop', {method: 'POST'});
    });
    this.panel = element('div', {class: 'own'}, element('h2', {}, 'Training'), this.numbers, this.curve, this.button);
    this.app.controls.before(this.panel);
    if (this.app.view.plane) this.#originals();
  }

  /** The original beside the fit, and their difference. */
  async #originals() {
    const answer = await fetch('original');
    if (!answer.ok) return;
    const buffer = await answer.arrayBuffer(), length = new DataView(buffer).getUint32(0, true);
    const {width, height, channels} = JSON.parse(new TextDecoder().decode(new Uint8Array(buffer, 4, length)));
    const {app} = this, {plane} = app.view;
    plane.setOriginal(new Uint8Array(buffer, 4 + length), width, height, channels);
    this.panel.append(choice('Field, original or error', [
      [0, 'Field', 'The field as it is now'], [1, 'Original', 'What is fitted'], [2, 'Error ×8', 'The difference, eight times as bright'],
    ], (beside) => {
      plane.beside = beside;
      app.show();
    }));
    this.panel.lastChild.choose(0);
  }

  #training({running, step, steps, loss, psnr, seconds, curve, curveEvery, metrics}) {
    if (!this.panel) this.#build();
    this.button.hidden = !running;
    if (step === undefined) return;
    const measured = Object.entries(metrics || {}).map(([name, value]) => `${name} ${readable(value)}`).join(', ');
    this.numbers.textContent = running
      ? `step ${step}${steps ? ` of ${steps}` : ''}, ${psnr.toFixed(2)} dB, loss ${readable(loss)}, ${seconds.toFixed(1)} s`
      : `finished after ${step} steps in ${seconds.toFixed(1)} s: ${measured}`;
    this.#drawCurve(curve, curveEvery);
  }

  #drawCurve(curve, every) {
    const canvas = this.curve, ratio = window.devicePixelRatio || 1, box = canvas.getBoundingClientRect();
    if (!box.width || curve.length < 2) return;
    Object.assign(canvas, {width: Math.round(box.width * ratio), height: Math.round(box.height * ratio)});
    const pen = canvas.getContext('2d'), {width, height} = canvas, pad = 16 * ratio;
    const style = getComputedStyle(document.documentElement), low = Math.min(...curve), high = Math.max(...curve, low + 1);
    const y = (value) => height - pad - ((value - low) / (high - low)) * (height - 2 * pad);
    pen.strokeStyle = style.getPropertyValue('--accent');
    pen.lineWidth = 2 * ratio;
    line(pen, curve.map((value, i) => [(i / (curve.length - 1)) * width, y(value)]));
    pen.fillStyle = style.getPropertyValue('--soft');
    pen.font = `${11 * ratio}px system-ui, sans-serif`;
    pen.fillText(`${high.toFixed(1)} dB`, 4 * ratio, 12 * ratio);
    pen.fillText(`${low.toFixed(1)} dB`, 4 * ratio, height - 4 * ratio);
    const last = `step ${(curve.length - 1) * every}`;
    pen.fillText(last, width - pen.measureText(last).width - 4 * ratio, height - 4 * ratio);
  }
}
