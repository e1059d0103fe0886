/* The training step at N = 999, K = 27 in C, as fast as we could make it: the yardstick of benchmarks/learning.py.
 *
 * Same memory layout and arithmetic as the Numba kernel: weights (block, row, lane) with sixteen branches per block,
 * one bit per input. Everything is a compile-time constant here and only Polsky's function is known. Vectors have
 * sixteen lanes with AVX-512, where bits are mask registers, and eight elsewhere, where the bits are spread out. */
#include <math.h>
#include <stdint.h>

#define BLOCKS 2
#define ROWS 37
#ifdef __AVX512F__
#include <immintrin.h>
#define W 16
#else
#define W 8
#endif
#define PARTS (16 / W)
#define GROUPS (BLOCKS * PARTS)

typedef float vec __attribute__((vector_size(4 * W), aligned(4 * W)));
typedef int32_t ivec __attribute__((vector_size(4 * W), aligned(4 * W)));

static inline vec all(float x) { return (vec){0} + x; }
static inline vec pick(ivec mask, vec a, vec b) { return (vec)((mask & (ivec)a) | (~mask & (ivec)b)); }

#ifdef __AVX512F__
static inline vec add_where(uint16_t bits, vec a, vec b) {
    return (vec)_mm512_mask_add_ps((__m512)a, bits, (__m512)a, (__m512)b);
}
static inline vec larger(vec a, vec b) { return (vec)_mm512_max_ps((__m512)a, (__m512)b); }
static inline vec smaller(vec a, vec b) { return (vec)_mm512_min_ps((__m512)a, (__m512)b); }
static inline vec nearest(vec a) { return (vec)_mm512_roundscale_ps((__m512)a, 8); }
static inline float total(vec a) { return _mm512_reduce_add_ps((__m512)a); }
#else
static inline vec add_where(uint16_t bits, vec a, vec b) {
    const ivec lane_bit = {1, 2, 4, 8, 16, 32, 64, 128};
    ivec spread = (ivec){0} + (int32_t)bits;
    return a + (vec)((ivec)b & ((spread & lane_bit) == lane_bit));
}
#ifdef __AVX2__
#include <immintrin.h>
static inline vec larger(vec a, vec b) { return (vec)_mm256_max_ps((__m256)a, (__m256)b); }
static inline vec smaller(vec a, vec b) { return (vec)_mm256_min_ps((__m256)a, (__m256)b); }
#else
static inline vec larger(vec a, vec b) { return pick(a > b, a, b); }
static inline vec smaller(vec a, vec b) { return pick(a < b, a, b); }
#endif
static inline vec nearest(vec a) { return (a + 12582912.0f) - 12582912.0f; }
static inline float total(vec a) {
    return ((a[0] + a[4]) + (a[1] + a[5])) + ((a[2] + a[6]) + (a[3] + a[7]));
}
#endif

static inline vec exponential(vec x) {
    vec n = nearest(x * 1.44269504088896341f);
    vec r = x - n * 0.693359375f + n * 2.12194440e-4f;
    vec p = 1.9875691500e-4f * r + 1.3981999507e-3f;
    p = p * r + 8.3334519073e-3f;
    p = p * r + 4.1665795894e-2f;
    p = p * r + 1.6666665459e-1f;
    p = p * r + 5.0000001201e-1f;
    p = p * (r * r) + r + 1.0f;
    return p * (vec)((__builtin_convertvector(n, ivec) + 127) << 23);
}

void epoch(float *weights, const uint16_t *bits, const float *signs, const int64_t *order, int64_t n_patterns,
           const float *constants, float soma_offset, float rate, float gamma_ce, float x_min, float gamma) {
    const vec *constant = (const vec *)constants, zero = all(0.0f), one = all(1.0f);
    vec *w = (vec *)weights;
    for (int64_t step = 0; step < n_patterns; step++) {
        const uint16_t *pattern = bits + order[step] * BLOCKS * ROWS;
        vec even[GROUPS], odd[GROUPS], signal[GROUPS], collected = zero;
        for (int group = 0; group < GROUPS; group++) even[group] = odd[group] = zero;
        for (int i = 0; i + 1 < ROWS; i += 2)
            for (int block = 0; block < BLOCKS; block++)
                for (int part = 0; part < PARTS; part++) {
                    int row = block * ROWS + i, group = block * PARTS + part;
                    even[group] = add_where(pattern[row] >> (W * part), even[group], w[row * PARTS + part]);
                    odd[group] = add_where(pattern[row + 1] >> (W * part), odd[group], w[(row + 1) * PARTS + part]);
                }
        for (int group = 0; group < GROUPS; group++) {
            int last = group / PARTS * ROWS + ROWS - 1, part = group % PARTS;
            vec sum = add_where(pattern[last] >> (W * part), even[group], w[last * PARTS + part]) + odd[group];
            vec x = sum * constant[group] + constant[GROUPS + group];
            vec u = smaller(larger(gamma * (x - x_min), zero), all(30.0f));
            vec decay = exponential(-u), share = one / (one + decay);
            vec rise = 2.0f * (1.0f - x_min) * gamma * (decay * share * share);
            ivec low = x < x_min;
            vec output = pick(low, larger(x, zero), 2.0f * (1.0f - x_min) * share + (2.0f * x_min - 1.0f));
            vec slope = pick(low, pick(x > zero, one, zero), rise);
            collected += constant[2 * GROUPS + group] * output;
            signal[group] = slope * constant[3 * GROUPS + group];
        }
        float sign = signs[order[step]];
        float exponent = 2.0f * gamma_ce * sign * (total(collected) - soma_offset);
        exponent = fminf(fmaxf(exponent, -30.0f), 30.0f);
        vec soft_error = all(rate * sign) / (one + exponential(all(exponent)));
        for (int group = 0; group < GROUPS; group++) signal[group] *= soft_error;
        for (int block = 0; block < BLOCKS; block++)
            for (int i = 0; i < ROWS; i++)
                for (int part = 0; part < PARTS; part++) {
                    int row = block * ROWS + i;
                    vec *at = w + row * PARTS + part;
                    *at = larger(add_where(pattern[row] >> (W * part), *at, signal[block * PARTS + part]), zero);
                }
    }
}
