"""Learning rates and first frequencies of each network, and where they differ; docs/recipes.md has the evidence."""

from __future__ import annotations

# Rates of Adam and Muon for full batches.
RATES = {
    "staf": 3e-3,
    "siren": 1e-3,
    "finer": 1e-3,
    "wire": 3e-3,
    "gauss": 1.5e-3,
    "ffn": 1e-2,
    "pemlp": 1e-2,
    "mfn": 1e-2,
    "incode": 1e-3,
}
# Pictures of at least this many pixels, seen whole, are trained by SOAP. Small ones have far fewer values than the
# network has weights, and there Muon ends higher: 32x32 pixels, 150 steps, Muon 68 dB, SOAP 63 dB at the best of 7.
SOAP_POINTS = 2**15
# Fewer steps leave SOAP no time to rise: kodim03 and kodim13, STAF, 200 steps, SOAP at its best of three rates ends at
# 49.0 and 41.7 dB, Muon at 49.8 and 44.6.
SOAP_STEPS = 300
# Seconds of training for each point that hold so many steps on a GPU ten times slower than an H200.
SOAP_SECONDS = 1e-4
# Muon on pictures of that size, for fewer steps. kodim03, STAF, at 7e-4, 1.5e-3, 3e-3: after 50 steps 29.3, 33.4, 33.3
# dB, after 100 36.9, 41.8, 40.9, after 200 47.4, 49.8, 48.5; between the pixels 3e-3 is worst. SIREN, FINER alike.
SHORT_RATES = {"staf": 1.5e-3, "siren": 1.5e-3, "finer": 1.5e-3}
# How fast C, Omega and Phi learn with SOAP. One C scales a whole layer, so that what its steps add at random is seen by
# every weight. kodim03 and kodim13, 1,000 steps, seeds 1 and 2: at 0.1, 3, 0.1 78.7 dB; eleven other pictures, seeds 0,
# 1 and 2: 77.9, 79.1 and 78.8 dB, where 3, 3, 3 had 78.6, 74.4 and 74.5.
SOAP_ACTIVATIONS = (0.1, 3.0, 0.1)
# FINER at 3e-3 falls on some pictures: kodim03, 300 steps, 37.8 dB; kodim06, 400 steps, 31.9 dB, where 200 of Muon have
# 45.9 dB.
SOAP_RATES = {
    "staf": 3e-3,
    "siren": 3e-3,
    "finer": 1e-3,
    "wire": 3e-3,
    "gauss": 5e-3,
    "ffn": 1e-2,
    "pemlp": 1e-2,
    "mfn": 1e-2,
    "incode": 1e-3,
}
# Pictures of at most this many pixels, seen whole, are learnt slower: their values are far fewer than the weights, and
# what large steps do to the rest is noise between the pixels. 64x64 kodim13, 150 steps: at 3e-3 63.5 dB, and 24.2 dB
# between; at 1e-3 67.0 and 26.6; at 5e-4 68.9 and 31.0. Blurred: 61.3 and 26.5; 66.5 and 30.7; 64.7 and 39.2. Few steps
# cannot be that small: of 40, 39.0 and 22.9 dB; 35.4 and 33.4; 25.7 and 25.8.
SMALL_POINTS = 2**13
SMALL_STEPS = 150
SMALL_RATES = {"staf": (1e-3, 5e-4)}
# omega0 of the first layer, for pictures, as a multiple of what `spectrum.image_omega0` finds.
OMEGA0_FACTORS = {"staf": 1.0, "siren": 1.0, "finer": 0.25, "incode": 0.5}
# Mini-batches are noisy. With 400 steps of 8,192 pixels on eight 256x256 photos, STAF at 1.5e-3 ends at 44.6 dB in the
# mean and 41.5 on the worst photo; at 3e-3 two of the eight end below 20 dB.
MINI_BATCH_FACTOR = 0.5
# Full batches of audio. One second of the paper's recording, 1,000 steps on a GPU: at 3e-3 STAF falls to silence,
# 18 dB, with first sines of 200 to 1,600 Hz alike; at 2.1e-3 it ends at 75.3 dB, at 1.5e-3 74.3, at 1e-3 68.5, at 6e-4
# 66.0. SIREN's own 1e-3 gives 70.4.
AUDIO_FACTORS = {"staf": 0.5}
# SOAP on full batches of audio. Half a second of the paper's recording, width 64, 500 steps: STAF at 5e-4, 1e-3, 2e-3
# ends at 54.5, 55.0 and 55.5 dB, by Muon at 1.5e-3 at 53.2; one second, width 96, 300 steps: at 1e-3, 2e-3 and 3e-3 at
# 55.4, 56.0 and 56.1 dB, by Muon at 3e-3 at 54.8.
AUDIO_SOAP_RATES = {model: rate * 2 / 3 for model, rate in SOAP_RATES.items()} | {"finer": 2e-3}
# WIRE's constants. Its wavelet's largest value is exp(omega0^2 / (2 sigma0)^2), 9.5 for the published 30 and 10, and
# each layer feeds it to the next. 48x48 kodim13, width 96, 150 full batches of SOAP at 3e-3: 40.1 dB with 15 for all
# three, 38.1 with 20, 39.4 with 10; Adam at 1e-3 to 5e-3 has 13.1 dB with 30 and 10, and 19.7 with 30 and 30.
WIRE = {"omega0": 15.0, "hidden_omega0": 15.0, "sigma0": 15.0}
