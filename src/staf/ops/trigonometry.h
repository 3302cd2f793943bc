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

/* pi (n + r), with the parity of n as a sign bit. */
typedef struct {
    float r;
    uint32_t sign;
} staf_turn;

/* Below this many half turns STAF_ROUNDER finds n; beyond, r must be clamped to keep results bounded. */
#define STAF_EXACT_TURNS 2097152.0f

#define STAF_SINE_0 3.14159256f
#define STAF_SINE_1 (-5.16770588f)
#define STAF_SINE_2 2.5500149f
#define STAF_SINE_3 (-0.59794669f)
#define STAF_SINE_4 0.0770269616f

STAF_INLINE float staf_flip(float number, uint32_t sign)
{
    staf_word word;
    word.number = number;
    word.bits ^= sign;
    return word.number;
}

STAF_INLINE uint32_t staf_parity(float rounded)
{
    staf_word word;
    word.number = rounded;
    return word.bits << 31;
}

STAF_INLINE float staf_clamped(float r)
{
    r = r > 1.0f ? 1.0f : r;
    return r < -1.0f ? -1.0f : r;
}

STAF_INLINE staf_turn staf_turn_of(float x, float high, float low, float phase, const int clamp)
{
    const float rounded = fmaf(high, x, phase) + STAF_ROUNDER;
    const float n = rounded - STAF_ROUNDER;
    const float r = fmaf(low, x, fmaf(high, x, -n)) + phase;
    return (staf_turn){clamp ? staf_clamped(r) : r, staf_parity(rounded)};
}

/* sin(pi r) / r and cos(pi r), z = r r. */
STAF_INLINE float staf_sine_ratio(float z)
{
    float s = fmaf(z, STAF_SINE_4, STAF_SINE_3);
    s = fmaf(s, z, STAF_SINE_2);
    s = fmaf(s, z, STAF_SINE_1);
    return fmaf(s, z, STAF_SINE_0);
}

STAF_INLINE float staf_cosine(float z)
{
    float c = fmaf(z, 0.219484108f, -1.33183837f);
    c = fmaf(c, z, 4.058419f);
    c = fmaf(c, z, -4.93479439f);
    return fmaf(c, z, 1.0f);
}

STAF_INLINE staf_pair staf_pair_of(staf_turn turn)
{
    const float z = turn.r * turn.r;
    return (staf_pair){staf_flip(staf_sine_ratio(z) * turn.r, turn.sign), staf_flip(staf_cosine(z), turn.sign)};
}

STAF_INLINE staf_pair staf_sine_cosine(float x, float high, float low, float phase)
{
    return staf_pair_of(staf_turn_of(x, high, low, phase, 1));
}

#endif
