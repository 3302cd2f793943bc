"""GLSL and WGSL source has the values of the field, compiled and run in a browser."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest
import torch

from staf.api import FittedField
from staf.export.describe import describe
from staf.export.errors import ExportError
from staf.export.evaluate import evaluate
from staf.export.shader_source import GLSL, WGSL, export_glsl, export_wgsl
from tests.export.fields import audio_field, image_field
from tests.export.networks import EVERY_STEP, make, points
from tests.reports.browser import executable
from tests.viewer.gpu_browser import GpuBrowser

needs_browser = pytest.mark.skipif(executable() is None, reason="no Chromium")

RUN_GLSL = """(source, takes, gives, points) => {
  const gl = document.createElement('canvas').getContext('webgl2');
  const arguments_ = {1: 'c.x', 2: 'c.xy', 3: 'c.xyz'}[takes];
  const result = {1: 'vec4(v, 0.0, 0.0, 0.0)', 2: 'vec4(v, 0.0, 0.0)', 3: 'vec4(v, 0.0)'}[gives];
  const type = {1: 'float', 2: 'vec2', 3: 'vec3'}[gives];
  const compile = (kind, text) => {
    const shader = gl.createShader(kind);
    gl.shaderSource(shader, text);
    gl.compileShader(shader);
    if (!gl.getShaderParameter(shader, gl.COMPILE_STATUS)) throw new Error(gl.getShaderInfoLog(shader));
    return shader;
  };
  const program = gl.createProgram();
  gl.attachShader(program, compile(gl.VERTEX_SHADER, `#version 300 es
    void main() { gl_Position = vec4(vec2[3](vec2(-1, -1), vec2(3, -1), vec2(-1, 3))[gl_VertexID], 0, 1); }`));
  gl.attachShader(program, compile(gl.FRAGMENT_SHADER, `#version 300 es
    precision highp float; precision highp sampler2D;
    uniform sampler2D points; out uvec4 bits;
    ${source}
    void main() {
      vec4 c = texelFetch(points, ivec2(gl_FragCoord.xy), 0);
      ${type} v = field(${arguments_});
      bits = floatBitsToUint(${result});
    }`));
  gl.linkProgram(program);
  gl.useProgram(program);
  const n = points.length, data = new Float32Array(4 * n);
  points.forEach((point, i) => data.set(point, 4 * i));
  const texture = (inside, format, type_, values) => {
    gl.bindTexture(gl.TEXTURE_2D, gl.createTexture());
    gl.texParameteri(gl.TEXTURE_2D, gl.TEXTURE_MIN_FILTER, gl.NEAREST);
    gl.texParameteri(gl.TEXTURE_2D, gl.TEXTURE_MAG_FILTER, gl.NEAREST);
    gl.texImage2D(gl.TEXTURE_2D, 0, inside, n, 1, 0, format, type_, values);
    return gl.getParameter(gl.TEXTURE_BINDING_2D);
  };
  const out = texture(gl.RGBA32UI, gl.RGBA_INTEGER, gl.UNSIGNED_INT, null);
  texture(gl.RGBA32F, gl.RGBA, gl.FLOAT, data);
  gl.bindFramebuffer(gl.FRAMEBUFFER, gl.createFramebuffer());
  gl.framebufferTexture2D(gl.FRAMEBUFFER, gl.COLOR_ATTACHMENT0, gl.TEXTURE_2D, out, 0);
  gl.viewport(0, 0, n, 1);
  gl.drawArrays(gl.TRIANGLES, 0, 3);
  const bits = new Uint32Array(4 * n);
  gl.readPixels(0, 0, n, 1, gl.RGBA_INTEGER, gl.UNSIGNED_INT, bits);
  if (gl.getError()) throw new Error('GL error');
  return Array.from(new Float32Array(bits.buffer));
}"""

RUN_WGSL = """async (source, takes, gives, points) => {
  const device = await (await navigator.gpu.requestAdapter()).requestDevice();
  const argument = {1: 'c.x', 2: 'c.xy', 3: 'c.xyz'}[takes];
  const result = {1: 'vec4f(v, 0, 0, 0)', 2: 'vec4f(v, 0, 0)', 3: 'vec4f(v, 0)'}[gives];
  const module = device.createShaderModule({code: `${source}
    @group(0) @binding(0) var<storage, read> points: array<vec4f>;
    @group(0) @binding(1) var<storage, read_write> values: array<vec4f>;
    @compute @workgroup_size(64) fn main(@builtin(global_invocation_id) id: vec3u) {
      if (id.x >= arrayLength(&points)) { return; }
      let c = points[id.x];
      let v = field(${argument});
      values[id.x] = ${result};
    }`});
  const errors = (await module.getCompilationInfo()).messages.filter((message) => message.type === 'error');
  if (errors.length) throw new Error(errors.map((message) => message.message).join());
  const n = points.length, data = new Float32Array(4 * n);
  points.forEach((point, i) => data.set(point, 4 * i));
  const buffer = (usage) => device.createBuffer({size: 16 * n, usage});
  const input = buffer(GPUBufferUsage.STORAGE | GPUBufferUsage.COPY_DST);
  const output = buffer(GPUBufferUsage.STORAGE | GPUBufferUsage.COPY_SRC);
  const back = buffer(GPUBufferUsage.MAP_READ | GPUBufferUsage.COPY_DST);
  device.queue.writeBuffer(input, 0, data);
  const pipeline = device.createComputePipeline({layout: 'auto', compute: {module, entryPoint: 'main'}});
  const entries = [input, output].map((each, binding) => ({binding, resource: {buffer: each}}));
  const encoder = device.createCommandEncoder(), pass = encoder.beginComputePass();
  pass.setPipeline(pipeline);
  pass.setBindGroup(0, device.createBindGroup({layout: pipeline.getBindGroupLayout(0), entries}));
  pass.dispatchWorkgroups(Math.ceil(n / 64));
  pass.end();
  encoder.copyBufferToBuffer(output, 0, back, 0, 16 * n);
  device.queue.submit([encoder.finish()]);
  await back.mapAsync(GPUMapMode.READ);
  return Array.from(new Float32Array(back.getMappedRange()));
}"""

RUNNERS = {GLSL.name: (export_glsl, RUN_GLSL), WGSL.name: (export_wgsl, RUN_WGSL)}


@pytest.fixture(scope="module")
def browser(tmp_path_factory: pytest.TempPathFactory) -> Iterator[GpuBrowser]:
    page = tmp_path_factory.mktemp("page") / "empty.html"
    page.write_text("<!doctype html><body data-ready=yes>")
    with GpuBrowser(webgpu=True) as browser:
        browser.open(page, width=400, height=300)
        yield browser


def run(browser: GpuBrowser, language: str, field: FittedField, x: torch.Tensor, folder: Path) -> np.ndarray:
    export, runner = RUNNERS[language]
    source = export(field, folder / "field.txt").read_text()
    takes, gives = x.shape[1], field(x[:1]).shape[1]
    flat = browser.apply(runner, source, takes, gives, x.tolist())
    return np.array(flat).reshape(len(x), 4)[:, :gives]


@needs_browser
@pytest.mark.parametrize("language", RUNNERS)
@pytest.mark.parametrize("name", [name for name in EVERY_STEP if not name.startswith("ngp")])
def test_every_step(name: str, language: str, browser: GpuBrowser, tmp_path: Path):
    field, x = FittedField(make(name, width=10, depth=2), {}), points(100)
    got, expected = run(browser, language, field, x, tmp_path), field(x).detach().numpy()
    rounding = np.abs(evaluate(describe(field.module), x.double().numpy()) - expected).max()
    assert np.abs(got - expected).max() < 1e-5 + 3 * rounding


@needs_browser
@pytest.mark.parametrize("language", RUNNERS)
def test_values_are_in_the_units_of_the_signal(language: str, browser: GpuBrowser, tmp_path: Path):
    field, x = audio_field(channels=2, width=8, depth=2), points(20, 1)
    assert np.allclose(run(browser, language, field, x, tmp_path), field(x).detach().numpy(), atol=1e-5)


@needs_browser
def test_the_example_of_the_documentation(browser: GpuBrowser, tmp_path: Path):
    page = (Path(__file__).parents[2] / "docs/how-to/export.md").read_text("utf-8")
    example, source = page.split("```glsl\n")[1].split("```")[0], export_glsl(image_field(width=8), tmp_path / "f.glsl")
    compile_ = """(text) => {
      const gl = document.createElement('canvas').getContext('webgl2'), shader = gl.createShader(gl.FRAGMENT_SHADER);
      gl.shaderSource(shader, text);
      gl.compileShader(shader);
      return gl.getShaderInfoLog(shader);
    }"""
    whole = example.replace("// ... the text of photo.glsl ...", source.read_text())
    assert whole != example
    assert not browser.apply(compile_, whole).strip("\0")


@pytest.mark.parametrize("language", RUNNERS)
def test_what_shaders_cannot_hold_is_refused(language: str, tmp_path: Path):
    export, _ = RUNNERS[language]
    with pytest.raises(ExportError, match=r"198,975 parameters, and a shader can hold 16,384; use .html, .onnx or .c"):
        export(FittedField(make("staf", width=256, depth=4), {}), tmp_path / "f.txt")
    with pytest.raises(ExportError, match="to 5 values"):
        export(FittedField(make("staf", outputs=5), {}), tmp_path / "f.txt")
    with pytest.raises(ExportError, match="hash grid"):
        export(FittedField(make("ngp"), {}), tmp_path / "f.txt")


def test_the_head_says_how_coordinates_lie(tmp_path: Path):
    text = export_glsl(image_field(width=8), tmp_path / "f.glsl").read_text()
    assert text.startswith("// A field made by staf.\n// 2 coordinates in [-1, 1]: row (from the top), then column")
    assert "vec3 field(vec2 p) {" in text
