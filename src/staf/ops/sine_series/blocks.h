/* Inner loops of the sine series: up to BLOCK elements, all terms, everything in the first-level cache. */
#ifndef STAF_SINE_SERIES_BLOCKS_H
#define STAF_SINE_SERIES_BLOCKS_H

#include <string.h>

#include "../trigonometry.h"

#define BLOCK 1024

typedef struct {
    const float *amplitude, *frequency, *phase;
    const float *high, *low, *turn, *factor;
    float reach; /* up to this abs(x) no angle needs to be clamped */
} staf_set;

typedef struct {
    const float *amplitude, *frequency, *phase;
} staf_tangent;

/* Whether some angle of a block is too large for its whole turns to be counted. */
STAF_INLINE int beyond_reach(const float *restrict x, int64_t size, const staf_set *p)
{
    float largest = 0;
#pragma omp simd reduction(max : largest)
    for (int64_t j = 0; j < size; j++) largest = fabsf(x[j]) > largest ? fabsf(x[j]) : largest;
    return largest > p->reach;
}

/* The three inner loops. STEP is 0 where one set serves all columns and 1 where each column has its own; `at` is the
 * first column; sums go to three rows of length `columns` for each term. */

#define TERM(j) ((size_t)k * (size_t)columns + (size_t)(STEP * (at + (j))))

STAF_INLINE void value_block(const float *restrict x, float *restrict y, int64_t size, const staf_set *p, int64_t terms,
                             int64_t columns, int64_t at, const int STEP, const int clamp)
{
    float total[BLOCK];
    memset(total, 0, sizeof(float) * (size_t)size);
    for (int64_t k = 0; k < terms; k++) {
        if (STEP) {
#pragma omp simd
            for (int64_t j = 0; j < size; j++) {
                const staf_turn t = staf_turn_of(x[j], p->high[TERM(j)], p->low[TERM(j)], p->turn[TERM(j)], clamp);
                const float scaled = p->amplitude[TERM(j)] * staf_flip(t.r, t.sign);
                total[j] = fmaf(scaled, staf_sine_ratio(t.r * t.r), total[j]);
            }
        } else {
            const float high = p->high[k], low = p->low[k], turn = p->turn[k], amplitude = p->amplitude[k];
            const float s0 = amplitude * STAF_SINE_0, s1 = amplitude * STAF_SINE_1, s2 = amplitude * STAF_SINE_2;
            const float s3 = amplitude * STAF_SINE_3, s4 = amplitude * STAF_SINE_4;
#pragma omp simd
            for (int64_t j = 0; j < size; j++) {
                const staf_turn t = staf_turn_of(x[j], high, low, turn, clamp);
                const float z = t.r * t.r;
                const float s = fmaf(fmaf(fmaf(fmaf(z, s4, s3), z, s2), z, s1), z, s0);
                total[j] = fmaf(s, staf_flip(t.r, t.sign), total[j]);
            }
        }
    }
    memcpy(y, total, sizeof(float) * (size_t)size);
}

STAF_INLINE void gradients_block(const float *restrict g, const float *restrict x, float *restrict dx, int64_t size,
                                 const staf_set *p, int64_t terms, int64_t columns, int64_t at, const int STEP,
                                 const int clamp, double *restrict sums, float *restrict rows)
{
    const int64_t count = terms * columns;
    float slope[BLOCK];
    memset(slope, 0, sizeof(float) * (size_t)size);
    for (int64_t k = 0; k < terms; k++) {
        if (STEP) {
            float *restrict ds = rows + k * columns + at, *restrict dw = ds + count, *restrict dp = dw + count;
#pragma omp simd
            for (int64_t j = 0; j < size; j++) {
                const staf_turn t = staf_turn_of(x[j], p->high[TERM(j)], p->low[TERM(j)], p->turn[TERM(j)], clamp);
                const float z = t.r * t.r, signed_g = staf_flip(g[j], t.sign), gc = signed_g * staf_cosine(z);
                slope[j] = fmaf(p->factor[TERM(j)], gc, slope[j]);
                ds[j] = fmaf(signed_g * t.r, staf_sine_ratio(z), ds[j]);
                dw[j] = fmaf(gc, x[j], dw[j]);
                dp[j] += gc;
            }
        } else {
            const float high = p->high[k], low = p->low[k], turn = p->turn[k], factor = p->factor[k];
            float a = 0, b = 0, c = 0;
#pragma omp simd reduction(+ : a, b, c)
            for (int64_t j = 0; j < size; j++) {
                const staf_turn t = staf_turn_of(x[j], high, low, turn, clamp);
                const float z = t.r * t.r, signed_g = staf_flip(g[j], t.sign), gc = signed_g * staf_cosine(z);
                slope[j] = fmaf(factor, gc, slope[j]);
                a = fmaf(signed_g * t.r, staf_sine_ratio(z), a);
                b = fmaf(gc, x[j], b);
                c += gc;
            }
            sums[k] += a;
            sums[count + k] += b;
            sums[2 * count + k] += c;
        }
    }
    memcpy(dx, slope, sizeof(float) * (size_t)size);
}

STAF_INLINE void second_block(const float *restrict g, const float *restrict x, const float *restrict v,
                              float *restrict in_g, float *restrict in_x, int64_t size, const staf_set *p,
                              const staf_tangent *d, int64_t terms, int64_t columns, int64_t at, const int STEP,
                              double *restrict sums, float *restrict rows)
{
    const int64_t count = terms * columns;
    float along_g[BLOCK], along_x[BLOCK];
    memset(along_g, 0, sizeof along_g);
    memset(along_x, 0, sizeof along_x);
    for (int64_t k = 0; k < terms; k++) {
        float *restrict ds = rows + k * columns + at, *restrict dw = ds + count, *restrict dp = dw + count;
        float a = 0, b = 0, c = 0;
#pragma omp simd reduction(+ : a, b, c)
        for (int64_t j = 0; j < size; j++) {
            const float amplitude = p->amplitude[TERM(j)], frequency = p->frequency[TERM(j)];
            const float amplitude_dot = d->amplitude[TERM(j)], frequency_dot = d->frequency[TERM(j)];
            const staf_pair t = staf_sine_cosine(x[j], p->high[TERM(j)], p->low[TERM(j)], p->turn[TERM(j)]);
            const float q = fmaf(frequency, v[j], fmaf(frequency_dot, x[j], d->phase[TERM(j)]));
            const float aq = amplitude * q, ac = amplitude * t.cosine;
            const float along = fmaf(amplitude_dot, t.cosine, -aq * t.sine);
            along_g[j] += fmaf(amplitude_dot, t.sine, aq * t.cosine);
            along_x[j] += fmaf(along, frequency, ac * frequency_dot);
            const float one = g[j] * q * t.cosine, two = g[j] * fmaf(along, x[j], ac * v[j]), three = g[j] * along;
            if (STEP) {
                ds[j] += one;
                dw[j] += two;
                dp[j] += three;
            } else {
                a += one;
                b += two;
                c += three;
            }
        }
        if (!STEP) {
            sums[k] += a;
            sums[count + k] += b;
            sums[2 * count + k] += c;
        }
    }
#pragma omp simd
    for (int64_t j = 0; j < size; j++) {
        in_g[j] = along_g[j];
        in_x[j] = g[j] * along_x[j];
    }
}

#undef TERM

#endif
