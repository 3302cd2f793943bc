/* SIREN's, FINER's and the Gaussian activation: the derivative of order 0, 1 or 2 at x, times grad unless grad is
 * null. Each function is one pass over memory. */
#include <stddef.h>

#include "trigonometry.h"

#define CHUNK 4096

enum { SINE, FINER, GAUSS };

/* exp(-q) for q >= 0, to 2e-7 of the result; zero where the result would be subnormal. */
STAF_INLINE float negative_exponential(float q)
{
    staf_word scale;
    const float turn = q * -1.44269504f;
    const float clamped = turn < -126.0f ? -126.0f : turn;
    const float rounded = clamped + STAF_ROUNDER;
    const float n = rounded - STAF_ROUNDER;
    const float residual = fmaf(q, -1.92596299e-8f, fmaf(q, -1.44269504f, -n));
    const float f = turn < -126.0f ? 0.0f : residual;
    float e = fmaf(f, 0.000153533621f, 0.00133988746f);
    e = fmaf(e, f, 0.00961843736f);
    e = fmaf(e, f, 0.0555033247f);
    e = fmaf(e, f, 0.240226479f);
    e = fmaf(e, f, 0.693147203f);
    e = fmaf(e, f, 1.0f);
    scale.bits = (uint32_t)((int32_t)n + 127) << 23;
    return turn < -126.0f ? 0.0f : e * scale.number;
}

/* high + low = abs(x) x + x, exactly but for the last rounding, and the reduced angle from it. */
STAF_INLINE staf_pair finer_pair(float x, float high, float low)
{
    const float square = fabsf(x) * x, square_low = fmaf(fabsf(x), x, -square);
    const float sum = square + x, part = sum - square;
    const float rest = (square - (sum - part)) + (x - part) + square_low;
    const float rounded = fmaf(high, sum, STAF_ROUNDER);
    const float n = rounded - STAF_ROUNDER;
    const float r = fmaf(low, sum, fmaf(high, rest, fmaf(high, sum, -n)));
    return staf_pair_of((staf_turn){staf_clamped(r), staf_parity(rounded)});
}

STAF_INLINE float one(float x, const int kind, const int order, float constant, float high, float low)
{
    if (kind == GAUSS) {
        const float z = constant * x, value = negative_exponential(z * z);
        const float square = constant * constant;
        if (order == 0) return value;
        if (order == 1) return -2.0f * square * x * value;
        return 2.0f * square * (2.0f * z * z - 1.0f) * value;
    }
    const staf_pair t = kind == SINE ? staf_sine_cosine(x, high, low, 0.0f) : finer_pair(x, high, low);
    const float rate = kind == SINE ? constant : constant * (fabsf(x) + 1.0f);
    if (order == 0) return t.sine;
    return order == 1 ? rate * t.cosine : -rate * rate * t.sine;
}

STAF_INLINE void stretch(const float *restrict g, const float *restrict x, float *restrict out, int64_t size,
                         const int kind, const int order, float constant, float high, float low)
{
    if (g) {
#pragma omp simd
        for (int64_t j = 0; j < size; j++) out[j] = g[j] * one(x[j], kind, order, constant, high, low);
    } else {
#pragma omp simd
        for (int64_t j = 0; j < size; j++) out[j] = one(x[j], kind, order, constant, high, low);
    }
}

#define CASE(kind, order)                                                                                             \
    case 3 * kind + order:                                                                                            \
        stretch(from, x + start, out + start, length, kind, order, constant, angle.high, angle.low);                  \
        break

int staf_pointwise(const float *g, const float *x, float *out, int64_t size, int kind, int order, double exact,
                   int threads)
{
    const staf_angle angle = staf_half_turns(exact, 0.0);
    const float constant = (float)exact;
    const int64_t chunks = (size + CHUNK - 1) / CHUNK;
#pragma omp parallel for num_threads(threads) schedule(static)
    for (int64_t chunk = 0; chunk < chunks; chunk++) {
        const int64_t start = chunk * CHUNK, length = size - start < CHUNK ? size - start : CHUNK;
        const float *from = g ? g + start : NULL;
        switch (3 * kind + order) {
            CASE(SINE, 0);
            CASE(SINE, 1);
            CASE(SINE, 2);
            CASE(FINER, 0);
            CASE(FINER, 1);
            CASE(FINER, 2);
            CASE(GAUSS, 0);
            CASE(GAUSS, 1);
            CASE(GAUSS, 2);
        }
    }
    return 0;
}
