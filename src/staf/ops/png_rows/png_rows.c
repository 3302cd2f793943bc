/* PNG's row filters undone, in place: rows of `bytes` bytes, each behind a byte that names its filter. */
#include <stdint.h>
#include <stdlib.h>

/* `rows` are (count, 1 + bytes), `above` the row before the first, which is replaced by the last row; `step` is a pixel's
 * bytes. Returns 0, or 1 + the number of the first row whose filter is unknown. */
int64_t staf_png_rows(uint8_t *rows, uint8_t *above, int64_t count, int64_t bytes, int64_t step)
{
    const uint8_t *up = above;
    for (int64_t r = 0; r < count; r++) {
        uint8_t *row = rows + r * (bytes + 1) + 1;
        switch (row[-1]) {
            case 0: break;
            case 1:
                for (int64_t i = step; i < bytes; i++) row[i] += row[i - step];
                break;
            case 2:
                for (int64_t i = 0; i < bytes; i++) row[i] += up[i];
                break;
            case 3:
                for (int64_t i = 0; i < step && i < bytes; i++) row[i] += up[i] >> 1;
                for (int64_t i = step; i < bytes; i++) row[i] += (uint8_t)((row[i - step] + up[i]) >> 1);
                break;
            case 4:
                for (int64_t i = 0; i < step && i < bytes; i++) row[i] += up[i];
                for (int64_t i = step; i < bytes; i++) {
                    const int left = row[i - step], over = up[i], corner = up[i - step];
                    const int to_left = abs(over - corner), to_over = abs(left - corner);
                    const int to_corner = abs(left + over - 2 * corner);
                    const int nearest = to_left <= to_over && to_left <= to_corner ? left
                                        : to_over <= to_corner                     ? over
                                                                                   : corner;
                    row[i] += (uint8_t)nearest;
                }
                break;
            default: return 1 + r;
        }
        up = row;
    }
    for (int64_t i = 0; i < bytes; i++) above[i] = up[i];
    return 0;
}
