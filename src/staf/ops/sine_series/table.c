/* A function of one variable by cubic polynomials on cells of equal width, and sums over points for its gradients.
 *
 * Cell n is [n h, (n + 1) h); 1 / h is a power of two, so that x / h, its floor n and the rest r are exact. Tables begin
 * with the cell `first`. See table.py for how they are made.
 */
#include <math.h>
#include <stdint.h>

#include "../trigonometry.h"

#define PART 2048

typedef float staf_four __attribute__((vector_size(16), aligned(4)));
typedef double staf_sums __attribute__((vector_size(32), aligned(8)));

#if defined(__clang__) || __GNUC__ >= 12
#define MIX(a, b, i, j, k, l) __builtin_shufflevector(a, b, i, j, k, l)
#else
typedef int32_t staf_order __attribute__((vector_size(16)));
#define MIX(a, b, i, j, k, l) __builtin_shuffle(a, b, (staf_order){i, j, k, l})
#endif

/* Cell and rest of up to PART points. */
STAF_INLINE void places(const float *restrict x, int64_t size, float per_unit, int32_t *restrict cell,
                        float *restrict rest)
{
#pragma omp simd
    for (int64_t j = 0; j < size; j++) {
        const float u = x[j] * per_unit, n = floorf(u);
        rest[j] = u - n;
        cell[j] = (int32_t)n;
    }
}

/* Polynomials of four points at once: a row of four coefficients is read for each, and the rows are transposed. */
STAF_INLINE void cubics(const float *restrict table, const int32_t *restrict cell, const float *restrict rest,
                        float *restrict y, int64_t size)
{
    int64_t j = 0;
    for (; j + 4 <= size; j += 4) {
        const staf_four a = *(const staf_four *)(table + 4 * (int64_t)cell[j]);
        const staf_four b = *(const staf_four *)(table + 4 * (int64_t)cell[j + 1]);
        const staf_four c = *(const staf_four *)(table + 4 * (int64_t)cell[j + 2]);
        const staf_four d = *(const staf_four *)(table + 4 * (int64_t)cell[j + 3]);
        const staf_four ab01 = MIX(a, b, 0, 4, 1, 5), ab23 = MIX(a, b, 2, 6, 3, 7);
        const staf_four cd01 = MIX(c, d, 0, 4, 1, 5), cd23 = MIX(c, d, 2, 6, 3, 7);
        const staf_four zero = MIX(ab01, cd01, 0, 1, 4, 5), one = MIX(ab01, cd01, 2, 3, 6, 7);
        const staf_four two = MIX(ab23, cd23, 0, 1, 4, 5), three = MIX(ab23, cd23, 2, 3, 6, 7);
        const staf_four r = *(const staf_four *)(rest + j);
        *(staf_four *)(y + j) = ((three * r + two) * r + one) * r + zero;
    }
    for (; j < size; j++) {
        const float *row = table + 4 * (int64_t)cell[j], r = rest[j];
        y[j] = ((row[3] * r + row[2]) * r + row[1]) * r + row[0];
    }
}

void staf_table_value(const float *x, const float *table, float *y, int64_t size, int64_t first, int64_t knots,
                      int64_t pieces, int threads, float per_unit)
{
    (void)knots;
    (void)pieces;
#pragma omp parallel for num_threads(threads) schedule(static)
    for (int64_t start = 0; start < size; start += PART) {
        const int64_t part = size - start < PART ? size - start : PART;
        int32_t cell[PART];
        float rest[PART];
        places(x + start, part, per_unit, cell, rest);
        cubics(table - 4 * first, cell, rest, y + start, part);
    }
}

/* dx = g f'(x), and for each knot the sums of g by the weights of value and slope in Hermite's interpolation. There is
 * a row of sums for each piece of the points, whatever the number of threads. */
void staf_table_gradients(const float *g, const float *x, const float *table, float *dx, double *sums, int64_t size,
                          int64_t first, int64_t knots, int64_t pieces, int threads, float per_unit)
{
#pragma omp parallel for num_threads(threads) schedule(static)
    for (int64_t piece = 0; piece < pieces; piece++) {
        const int64_t begin = size * piece / pieces, end = size * (piece + 1) / pieces;
        double *own = sums + 2 * (piece * knots - first);
        for (int64_t start = begin; start < end; start += PART) {
            const int64_t part = end - start < PART ? end - start : PART;
            int32_t cell[PART];
            float rest[PART], slope[PART], left[PART], left_slope[PART], right[PART], right_slope[PART];
            places(x + start, part, per_unit, cell, rest);
            cubics(table - 4 * first, cell, rest, slope, part);
#pragma omp simd
            for (int64_t j = 0; j < part; j++) {
                const float r = rest[j], s = 1 - r, weight = g[start + j];
                dx[start + j] = weight * slope[j];
                right[j] = weight * (r * r * (3 - 2 * r));
                left[j] = weight - right[j];
                left_slope[j] = weight * (r * s * s);
                right_slope[j] = -weight * (r * r * s);
            }
            for (int64_t j = 0; j < part; j++)
                *(staf_sums *)(own + 2 * (int64_t)cell[j]) += (staf_sums){left[j], left_slope[j], right[j], right_slope[j]};
        }
    }
}
