/* The three sums of a multiresolution grid (see loop.py), for float32.
 *
 * Values and slopes are computed in chunks of points; the table's sums level by level, each by one thread in the order of
 * the points, so that no result depends on the number of threads. */
#include <stdint.h>

#include "../trigonometry.h"

#define COLUMNS 7 /* offset, entries, dense, resolution of up to four axes */
#define CHUNK 512 /* points */

static const uint32_t PRIMES[4] = {1u, 2654435761u, 805459861u, 3674653429u};

typedef struct {
    const float *x, *along;
    const int32_t *levels;
    int64_t networks, points, level_count, entries;
    int smooth;
} staf_grid;

/* Of one point and level: the two rows' shares on each axis, and each axis' weights with their derivatives. */
typedef struct {
    uint32_t part[4][2];
    float weight[4][2], first[4][2], second[4][2];
} staf_cell;

STAF_INLINE void find_cell(const float *restrict x, const int32_t *restrict level, const int smooth,
                           staf_cell *restrict cell, const int d)
{
    uint32_t stride = 1;
    for (int k = d - 1; k >= 0; k--) {
        const int32_t cells = level[3 + k];
        const float half = 0.5f * (float)cells, v = x[k];
        const float bounded = v < -1.0f ? -1.0f : v > 1.0f ? 1.0f : v;
        const float slope = v >= -1.0f && v <= 1.0f ? half : 0.0f;
        const float position = (bounded + 1.0f) * half;
        /* What is not a number has cell 0: its weights are not numbers either. */
        int32_t at = position > 0.0f ? (int32_t)position : 0;
        if (at > cells - 1) at = cells - 1;
        const float s = position - (float)at;
        const float w = smooth ? s * s * (3.0f - 2.0f * s) : s;
        const float first = smooth ? 6.0f * s * (1.0f - s) * slope : slope;
        const float second = smooth ? (6.0f - 12.0f * s) * slope * slope : 0.0f;
        const uint32_t factor = level[2] ? stride : PRIMES[d - 1 - k];
        cell->part[k][0] = (uint32_t)at * factor;
        cell->part[k][1] = (uint32_t)(at + 1) * factor;
        cell->weight[k][0] = 1.0f - w, cell->weight[k][1] = w;
        cell->first[k][0] = -first, cell->first[k][1] = first;
        cell->second[k][0] = -second, cell->second[k][1] = second;
        stride *= (uint32_t)(cells + 1);
    }
}

STAF_INLINE int64_t row_of(const staf_cell *cell, const int32_t *level, const int corner, const int d)
{
    uint32_t row = 0;
    if (level[2])
        for (int k = 0; k < d; k++) row += cell->part[k][corner >> k & 1];
    else {
        for (int k = 0; k < d; k++) row ^= cell->part[k][corner >> k & 1];
        row &= (uint32_t)level[1] - 1u;
    }
    return (int64_t)level[0] + row;
}

/* The derivative of a corner's weight by the axes i and j; -1 is none. */
STAF_INLINE float weight_of(const staf_cell *cell, const int corner, const int i, const int j, const int d)
{
    float product = 1.0f;
    for (int k = 0; k < d; k++) {
        const int bit = corner >> k & 1, times = (k == i) + (k == j);
        product *= times == 0 ? cell->weight[k][bit] : times == 1 ? cell->first[k][bit] : cell->second[k][bit];
    }
    return product;
}

/* W, or D_v W where a direction is given; by the axis i too, unless that is -1. */
STAF_INLINE float directed(const staf_cell *cell, const float *along, const int corner, const int i, const int d)
{
    if (!along) return weight_of(cell, corner, i, -1, d);
    float total = 0.0f;
    for (int j = 0; j < d; j++) total += along[j] * weight_of(cell, corner, i, j, d);
    return total;
}

STAF_INLINE void gather_point(const staf_grid *g, const float *table, const int32_t *level, int64_t at, float *out,
                              const int d, const int f)
{
    staf_cell cell;
    float total[8] = {0};
    const float *along = g->along ? g->along + at * d : 0;
    find_cell(g->x + at * d, level, g->smooth, &cell, d);
    for (int corner = 0; corner < 1 << d; corner++) {
        const float w = directed(&cell, along, corner, -1, d), *row = table + row_of(&cell, level, corner, d) * f;
        for (int i = 0; i < f; i++) total[i] += w * row[i];
    }
    for (int i = 0; i < f; i++) out[i] = total[i];
}

STAF_INLINE void slope_point(const staf_grid *g, const float *table, const int32_t *level, int64_t at,
                             const float *grad, float *total, const int d, const int f)
{
    staf_cell cell;
    const float *along = g->along ? g->along + at * d : 0;
    find_cell(g->x + at * d, level, g->smooth, &cell, d);
    for (int corner = 0; corner < 1 << d; corner++) {
        const float *row = table + row_of(&cell, level, corner, d) * f;
        float seen = 0.0f;
        for (int i = 0; i < f; i++) seen += grad[i] * row[i];
        for (int k = 0; k < d; k++) total[k] += seen * directed(&cell, along, corner, k, d);
    }
}

STAF_INLINE void scatter_point(const staf_grid *g, float *table, const int32_t *level, int64_t at, const float *grad,
                               const int d, const int f)
{
    staf_cell cell;
    const float *along = g->along ? g->along + at * d : 0;
    find_cell(g->x + at * d, level, g->smooth, &cell, d);
    for (int corner = 0; corner < 1 << d; corner++) {
        const float w = directed(&cell, along, corner, -1, d);
        float *row = table + row_of(&cell, level, corner, d) * f;
        for (int i = 0; i < f; i++) row[i] += w * grad[i];
    }
}

/* Two features are usual, and known when compiling. */
#define BY_FEATURES(D, CALL)                                                                                          \
    switch (features) {                                                                                               \
        case 2: CALL(D, 2); break;                                                                                    \
        default: CALL(D, (int)features);                                                                              \
    }
#define BY_SHAPE(CALL)                                                                                                \
    switch (dimensions) {                                                                                             \
        case 1: BY_FEATURES(1, CALL) break;                                                                           \
        case 2: BY_FEATURES(2, CALL) break;                                                                           \
        case 3: BY_FEATURES(3, CALL) break;                                                                           \
        default: BY_FEATURES(4, CALL)                                                                                 \
    }
#define ARGUMENTS                                                                                                     \
    const float *x, const float *table, const float *along, const int32_t *levels, float *out, int64_t networks,       \
        int64_t points, int64_t dimensions, int64_t level_count, int64_t features, int64_t entries, int smooth,       \
        int threads
#define GRID const staf_grid g = {x, along, levels, networks, points, level_count, entries, smooth}
#define CHUNKS                                                                                                        \
    const int64_t network = task / chunks, start = network * points, stop = start + points;                           \
    const int64_t from = start + task % chunks * CHUNK, to = from + CHUNK < stop ? from + CHUNK : stop;               \
    const float *own = table + network * entries * features

int staf_grid_gather(ARGUMENTS)
{
    GRID;
    const int64_t chunks = (points + CHUNK - 1) / CHUNK, width = level_count * features;
#pragma omp parallel for num_threads(threads) schedule(static)
    for (int64_t task = 0; task < networks * chunks; task++) {
        CHUNKS;
        for (int64_t l = 0; l < level_count; l++) {
            const int32_t *level = levels + l * COLUMNS;
#define GATHER(D, F)                                                                                                  \
    for (int64_t at = from; at < to; at++) gather_point(&g, own, level, at, out + at * width + l * F, D, F)
            BY_SHAPE(GATHER)
        }
    }
    return 0;
}

int staf_grid_slope(const float *grad, ARGUMENTS)
{
    GRID;
    const int64_t chunks = (points + CHUNK - 1) / CHUNK, width = level_count * features;
#pragma omp parallel for num_threads(threads) schedule(static)
    for (int64_t task = 0; task < networks * chunks; task++) {
        CHUNKS;
        for (int64_t i = from * dimensions; i < to * dimensions; i++) out[i] = 0.0f;
        for (int64_t l = 0; l < level_count; l++) {
            const int32_t *level = levels + l * COLUMNS;
#define SLOPE(D, F)                                                                                                   \
    for (int64_t at = from; at < to; at++)                                                                            \
        slope_point(&g, own, level, at, grad + at * width + l * F, out + at * D, D, F)
            BY_SHAPE(SLOPE)
        }
    }
    return 0;
}

/* `out` holds zeros; `table` is not read. */
int staf_grid_scatter(const float *grad, ARGUMENTS)
{
    GRID;
    const int64_t width = level_count * features;
    (void)table;
#pragma omp parallel for num_threads(threads) schedule(dynamic)
    for (int64_t task = 0; task < networks * level_count; task++) {
        const int64_t network = task / level_count, l = task % level_count;
        const int64_t from = network * points, to = from + points;
        const int32_t *level = levels + l * COLUMNS;
        float *own = out + network * entries * features;
#define SCATTER(D, F)                                                                                                 \
    for (int64_t at = from; at < to; at++) scatter_point(&g, own, level, at, grad + at * width + l * F, D, F)
        BY_SHAPE(SCATTER)
    }
    return 0;
}
