/* Sine and cosine of a large product, written so that a compiler can vectorise them.
 *
 * Angles are counted in half turns: the frequency is divided by pi in double precision and split into two floats, so
 * that fma(high, x, -n) with n the nearest integer is the reduced angle with a single rounding. What follows is a
 * polynomial on [-0.51, 0.51] (n may be the second nearest by a rounding); n odd flips the sign. Absolute error below
 * 5e-7 for angles up to 1e4.
 */
#ifndef STAF_TRIGONOMETRY_H
#define STAF_TRIGONOMETRY_H

#include <math.h>
#include <stdint.h>

#ifndef __FP_FAST_FMAF
#error "this processor has no fused multiply-add for float"
#endif

#define STAF_INLINE static inline __attribute__((always_inline))
#define STAF_ROUNDER 12582912.0f /* 1.5 * 2^23: adding it leaves the nearest integer in the low bits */

typedef union {
    float number;
    uint32_t bits;
} staf_word;

typedef struct {
    float sine;
    float cosine;
} staf_pair;

/* (high + low) x + phase, in half turns. */
typedef struct {
    float high;
    float low;
    float phase;
} staf_angle;

STAF_INLINE staf_angle staf_half_turns(double frequency, double phase)
{
    const double inverse_pi = 0.31830988618379067154;
    const double rate = frequency * inverse_pi, turn = phase * inverse_pi;
    staf_angle angle;
    angle.high = (float)rate;
    angle.low = (float)(rate - (double)angle.high);
    angle.phase = (float)(turn - 2.0 * rint(0.5 * turn));
    return angle;
}

/* Sine and cosine of pi (n + r), where n = rounded - STAF_ROUNDER. Clamping r keeps the result bounded beyond 1e7. */
STAF_INLINE staf_pair staf_reduced(float rounded, float r)
{
    staf_word parity, sine, cosine;
    staf_pair result;
    parity.number = rounded;
    parity.bits <<= 31;
    r = r > 1.0f ? 1.0f : r;
    r = r < -1.0f ? -1.0f : r;
    const float z = r * r;
    float s = fmaf(z, 0.0770269616f, -0.59794669f);
    s = fmaf(s, z, 2.5500149f);
    s = fmaf(s, z, -5.16770588f);
    s = fmaf(s, z, 3.14159256f);
    float c = fmaf(z, 0.219484108f, -1.33183837f);
    c = fmaf(c, z, 4.058419f);
    c = fmaf(c, z, -4.93479439f);
    c = fmaf(c, z, 1.0f);
    sine.number = s * r;
    cosine.number = c;
    sine.bits ^= parity.bits;
    cosine.bits ^= parity.bits;
    result.sine = sine.number;
    result.cosine = cosine.number;
    return result;
}

STAF_INLINE staf_pair staf_sine_cosine(float x, float high, float low, float phase)
{
    const float rounded = fmaf(high, x, phase) + STAF_ROUNDER;
    const float n = rounded - STAF_ROUNDER;
    const float r = fmaf(low, x, fmaf(high, x, -n)) + phase;
    return staf_reduced(rounded, r);
}

#endif
