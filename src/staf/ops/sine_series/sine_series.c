/* The sine series, its gradients and its second derivatives, in one pass over memory each. See loop.py for formulas.
 *
 * x, grad, outputs: (networks, points, width). Parameters and their gradients: (networks, terms, columns), with columns
 * 1 (one set for the whole width) or width. Sums over points are gathered in pieces whose borders depend on the shapes
 * alone, so that results do not depend on the number of threads. Every function returns 0, or 1 without memory.
 */
#include <stdlib.h>
#include <string.h>

#include "blocks.h"

#define FLUSH_ROWS 32  /* rows summed in float before they go into a double */
#define MAX_PIECES 64
#define MIN_PIECE 4096 /* elements */

typedef struct {
    int64_t networks, points, width, columns, terms;
} staf_shape;

/* Rows of elements that share one parameter layout: the width, or everything when one set serves all columns. */
static int64_t row_length(const staf_shape *s) { return s->columns == 1 ? s->points * s->width : s->width; }
static int64_t row_count(const staf_shape *s) { return s->columns == 1 ? 1 : s->points; }

static int64_t piece_count(const staf_shape *s)
{
    const int64_t wanted = s->points * s->width / MIN_PIECE;
    const int64_t most = s->columns == 1 ? (s->points * s->width + BLOCK - 1) / BLOCK : s->points;
    int64_t pieces = wanted < MAX_PIECES ? wanted : MAX_PIECES;
    pieces = pieces < most ? pieces : most;
    return pieces < 1 ? 1 : pieces;
}

/* high, low, turn and amplitude times frequency of every parameter set, in one allocation. */
static float *prepare(const staf_shape *s, const float *amplitude, const float *frequency, const float *phase)
{
    const int64_t count = s->networks * s->terms * s->columns;
    float *prepared = malloc(sizeof(float) * 4 * (size_t)count);
    if (!prepared) return NULL;
    for (int64_t i = 0; i < count; i++) {
        const staf_angle angle = staf_half_turns(frequency[i], phase[i]);
        prepared[i] = angle.high;
        prepared[count + i] = angle.low;
        prepared[2 * count + i] = angle.phase;
        prepared[3 * count + i] = amplitude[i] * frequency[i];
    }
    return prepared;
}

static staf_set set_of(const staf_shape *s, int64_t network, const float *amplitude, const float *frequency,
                       const float *phase, const float *prepared)
{
    const int64_t own = s->terms * s->columns, count = s->networks * own, start = network * own;
    const float *high = prepared + start;
    float largest = 0;
    for (int64_t i = 0; i < own; i++) largest = fabsf(high[i]) > largest ? fabsf(high[i]) : largest;
    return (staf_set){amplitude + start, frequency + start, phase + start,   high, high + count,
                      high + 2 * count,  high + 3 * count,  STAF_EXACT_TURNS / largest};
}

static void flush(double *restrict sums, float *restrict rows, int64_t count)
{
#pragma omp simd
    for (int64_t i = 0; i < count; i++) {
        sums[i] += rows[i];
        rows[i] = 0;
    }
}

/* Add the pieces of each network in order; amplitude scales the second and third sum where they lack it. */
static void finish(const staf_shape *s, int64_t pieces, const double *sums, const float *scale, float *da, float *dw,
                   float *dp)
{
    const int64_t count = s->terms * s->columns;
    for (int64_t network = 0; network < s->networks; network++)
        for (int64_t i = 0; i < count; i++) {
            double total[3] = {0, 0, 0};
            for (int64_t piece = 0; piece < pieces; piece++)
                for (int which = 0; which < 3; which++)
                    total[which] += sums[((network * pieces + piece) * 3 + which) * count + i];
            const int64_t to = network * count + i;
            const double factor = scale ? scale[to] : 1.0;
            da[to] = (float)total[0];
            dw[to] = (float)(total[1] * factor);
            dp[to] = (float)(total[2] * factor);
        }
}

/* Elements [from, to) of a network's `rows` rows of `length`, as blocks: CALL(offset, size, column). */
#define FOR_BLOCKS(CALL)                                                                                              \
    for (int64_t row = first_row; row < last_row; row++) {                                                            \
        for (int64_t at = from; at < to; at += BLOCK) {                                                               \
            const int64_t size = to - at < BLOCK ? to - at : BLOCK, start = base + row * length + at;                 \
            CALL;                                                                                                     \
        }                                                                                                             \
        AFTER_ROW;                                                                                                    \
    }

/* One piece of one network: whole rows where columns have their own sets, a stretch of blocks otherwise. */
#define PIECE                                                                                                         \
    const int64_t network = task / pieces, piece = task % pieces, base = network * s.points * s.width;                \
    const int64_t length = row_length(&s), count = row_count(&s);                                                     \
    const int64_t blocks = (length + BLOCK - 1) / BLOCK;                                                              \
    const int64_t first_row = s.columns == 1 ? 0 : count * piece / pieces;                                            \
    const int64_t last_row = s.columns == 1 ? 1 : count * (piece + 1) / pieces;                                       \
    const int64_t from = s.columns == 1 ? blocks * piece / pieces * BLOCK : 0;                                        \
    const int64_t stop = s.columns == 1 ? blocks * (piece + 1) / pieces * BLOCK : length;                             \
    const int64_t to = stop < length ? stop : length;                                                                 \
    const staf_set p = set_of(&s, network, amplitude, frequency, phase, prepared);

int staf_series_value(const float *x, const float *amplitude, const float *frequency, const float *phase, float *y,
                      int64_t networks, int64_t points, int64_t width, int64_t columns, int64_t terms, int threads)
{
    const staf_shape s = {networks, points, width, columns, terms};
    const int64_t pieces = piece_count(&s);
    float *prepared = prepare(&s, amplitude, frequency, phase);
    if (!prepared) return 1;
#pragma omp parallel for num_threads(threads) schedule(static)
    for (int64_t task = 0; task < networks * pieces; task++) {
        PIECE
#define AFTER_ROW
#define VALUE(STEP, CLAMP) value_block(x + start, y + start, size, &p, terms, columns, at, STEP, CLAMP)
        if (columns == 1) FOR_BLOCKS(if (beyond_reach(x + start, size, &p)) VALUE(0, 1); else VALUE(0, 0))
        else FOR_BLOCKS(if (beyond_reach(x + start, size, &p)) VALUE(1, 1); else VALUE(1, 0))
#undef AFTER_ROW
    }
    free(prepared);
    return 0;
}

#define AFTER_ROW                                                                                                     \
    if (columns > 1 && ((row - first_row) % FLUSH_ROWS == FLUSH_ROWS - 1 || row == last_row - 1))                     \
        flush(sums + 3 * task * terms * columns, rows + 3 * task * terms * columns, 3 * terms * columns)

int staf_series_gradients(const float *g, const float *x, const float *amplitude, const float *frequency,
                          const float *phase, float *dx, float *da, float *dw, float *dp, int64_t networks,
                          int64_t points, int64_t width, int64_t columns, int64_t terms, int threads)
{
    const staf_shape s = {networks, points, width, columns, terms};
    const int64_t pieces = piece_count(&s);
    const size_t cells = (size_t)(3 * networks * pieces * terms * columns);
    float *prepared = prepare(&s, amplitude, frequency, phase);
    double *sums = calloc(cells, sizeof(double));
    float *rows = calloc(cells, sizeof(float));
    const int failed = !prepared || !sums || !rows;
    if (!failed) {
#pragma omp parallel for num_threads(threads) schedule(static)
        for (int64_t task = 0; task < networks * pieces; task++) {
            PIECE
            double *own = sums + 3 * task * terms * columns;
            float *row_sums = rows + 3 * task * terms * columns;
#define GRADIENTS(STEP, CLAMP)                                                                                        \
    gradients_block(g + start, x + start, dx + start, size, &p, terms, columns, at, STEP, CLAMP, own, row_sums)
            if (columns == 1) FOR_BLOCKS(if (beyond_reach(x + start, size, &p)) GRADIENTS(0, 1); else GRADIENTS(0, 0))
            else FOR_BLOCKS(if (beyond_reach(x + start, size, &p)) GRADIENTS(1, 1); else GRADIENTS(1, 0))
        }
        finish(&s, pieces, sums, amplitude, da, dw, dp);
    }
    free(prepared);
    free(sums);
    free(rows);
    return failed;
}

int staf_series_second(const float *g, const float *x, const float *amplitude, const float *frequency,
                       const float *phase, const float *v, const float *amplitude_tangent,
                       const float *frequency_tangent, const float *phase_tangent, float *in_g, float *in_x, float *da,
                       float *dw, float *dp, int64_t networks, int64_t points, int64_t width, int64_t columns,
                       int64_t terms, int threads)
{
    const staf_shape s = {networks, points, width, columns, terms};
    const int64_t pieces = piece_count(&s);
    const size_t cells = (size_t)(3 * networks * pieces * terms * columns);
    float *prepared = prepare(&s, amplitude, frequency, phase);
    double *sums = calloc(cells, sizeof(double));
    float *rows = calloc(cells, sizeof(float));
    const int failed = !prepared || !sums || !rows;
    if (!failed) {
#pragma omp parallel for num_threads(threads) schedule(static)
        for (int64_t task = 0; task < networks * pieces; task++) {
            PIECE
            const int64_t offset = network * terms * columns;
            const staf_tangent d = {amplitude_tangent + offset, frequency_tangent + offset, phase_tangent + offset};
            double *own = sums + 3 * task * terms * columns;
            float *row_sums = rows + 3 * task * terms * columns;
            if (columns == 1)
                FOR_BLOCKS(second_block(g + start, x + start, v + start, in_g + start, in_x + start, size, &p, &d,
                                        terms, columns, at, 0, own, row_sums))
            else
                FOR_BLOCKS(second_block(g + start, x + start, v + start, in_g + start, in_x + start, size, &p, &d,
                                        terms, columns, at, 1, own, row_sums))
        }
        finish(&s, pieces, sums, NULL, da, dw, dp);
    }
    free(prepared);
    free(sums);
    free(rows);
    return failed;
}
