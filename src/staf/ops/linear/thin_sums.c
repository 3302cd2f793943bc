/* Weight gradients of layers with up to 8 inputs or outputs: sums over the points, in one pass over memory.
 *
 * They are gathered in pieces whose borders depend on the shapes alone, so that results do not depend on the number of
 * threads. */
#include <stdlib.h>

#include "../trigonometry.h"

#define MOST_THIN 8
#define LANES 16
#define COLUMNS (2 * LANES)
#define MAX_PIECES 16
#define MIN_PIECE 1024 /* points */
#define FLUSH 64       /* points summed in float before they go into a double */

typedef float lanes __attribute__((vector_size(4 * LANES)));
typedef float loose_lanes __attribute__((vector_size(4 * LANES), aligned(4), may_alias));

#define LOAD(pointer) (*(const loose_lanes *)(pointer))

/* Add the sums over some points to (k + 1) rows of m doubles, for COLUMNS columns. */
STAF_INLINE void add_block(const float *restrict wide, const float *restrict thin, int64_t points, int64_t m,
                           double *restrict sums, const int k)
{
    lanes t[MOST_THIN + 1][2];
    for (int c = 0; c <= k; c++) t[c][0] = t[c][1] = (lanes){0};
    for (int64_t p = 0; p < points; p++) {
        const lanes first = LOAD(wide + p * m), second = LOAD(wide + p * m + LANES);
#pragma GCC unroll 8
        for (int c = 0; c < k; c++) {
            t[c][0] += thin[p * k + c] * first;
            t[c][1] += thin[p * k + c] * second;
        }
        t[k][0] += first;
        t[k][1] += second;
    }
    for (int c = 0; c <= k; c++)
        for (int j = 0; j < COLUMNS; j++) sums[c * m + j] += t[c][j / LANES][j % LANES];
}

#define CASE(K)                                                                                                       \
    case K:                                                                                                           \
        add_block(wide + p * m + j, thin + p * K, points, m, sums + piece * cells + j, K);                            \
        break

/* out (k + 1, m) = thin (n, k)^T wide (n, m), and in its last row the sums of wide. k is at most MOST_THIN, m a multiple
 * of COLUMNS. Returns 0, or 1 without memory. */
int staf_thin_sums(const float *wide, const float *thin, float *out, int64_t n, int64_t k, int64_t m, int threads)
{
    const int64_t wanted = n / MIN_PIECE < MAX_PIECES ? n / MIN_PIECE : MAX_PIECES;
    const int64_t pieces = wanted < 1 ? 1 : wanted, cells = (k + 1) * m;
    double *sums = calloc((size_t)(pieces * cells), sizeof(double));
    if (!sums) return 1;
#pragma omp parallel for num_threads(threads) schedule(static)
    for (int64_t piece = 0; piece < pieces; piece++) {
        const int64_t last = n * (piece + 1) / pieces;
        for (int64_t p = n * piece / pieces; p < last; p += FLUSH) {
            const int64_t points = last - p < FLUSH ? last - p : FLUSH;
            for (int64_t j = 0; j < m; j += COLUMNS) switch (k) {
                    CASE(1);
                    CASE(2);
                    CASE(3);
                    CASE(4);
                    CASE(5);
                    CASE(6);
                    CASE(7);
                    CASE(8);
                }
        }
    }
    for (int64_t i = 0; i < cells; i++) {
        double total = 0;
        for (int64_t piece = 0; piece < pieces; piece++) total += sums[piece * cells + i];
        out[i] = (float)total;
    }
    free(sums);
    return 0;
}
