// The page of a shape: the surface, or slices of the field.

class ShapeView {
  constructor(app) {
    this.app = app;
    this.tabs = choice('View', [[0, 'Surface', 'The surface'], [1, 'Slices', 'Values in a plane']], (at) => this.#choose(at));
    app.controls.append(this.tabs);
    this.views = [new SurfaceView(app), new SliceView(app)];
    this.tabs.choose(0);
  }

  get handlers() {
    return this.view.handlers;
  }

  #choose(at) {
    if (!this.views) return;
    this.view = this.views[at];
    this.views.forEach((view, i) => { view.own.hidden = i !== at; });
    this.app.runner.stop('plane');
    if (!this.app.runner.jobs.has('mesh')) this.views[0].count();
    if (this.size) this.view.resize(...this.size);
    if (at === 1) this.view.changed();
    this.app.show();
  }

  changed() {
    this.view.changed();
    if (this.view !== this.views[0]) this.views[0].compute();
  }

  resize(...size) {
    this.size = size;
    this.view.resize(...size);
  }

  show() {
    this.view.show();
  }
}
