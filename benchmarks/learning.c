/* The training step at N = 999, K = 27 in C, as fast as we could make it: the yardstick of benchmarks/learning.py.
 *
 * Same memory layout and arithmetic as the Numba kernel: sixteen branches per vector, weights (block, row, lane), one
 * bit per input. Everything is a compile-time constant here and only Polsky's function is known. With AVX-512 the
 * bits are mask registers; elsewhere the compiler's vector extensions expand them. */
#include <math.h>
#include <stdint.h>

#define LANES 16
#define BLOCKS 2
#define ROWS 37

typedef float vec __attribute__((vector_size(64), aligned(64)));
typedef int32_t ivec __attribute__((vector_size(64), aligned(64)));

static inline vec all(float x) { return (vec){x, x, x, x, x, x, x, x, x, x, x, x, x, x, x, x}; }
static inline vec pick(ivec mask, vec a, vec b) { return (vec)((mask & (ivec)a) | (~mask & (ivec)b)); }

#ifdef __AVX512F__
#include <immintrin.h>
static inline vec add_where(uint16_t bits, vec a, vec b) {
    return (vec)_mm512_mask_add_ps((__m512)a, bits, (__m512)a, (__m512)b);
}
static inline vec larger(vec a, vec b) { return (vec)_mm512_max_ps((__m512)a, (__m512)b); }
static inline vec smaller(vec a, vec b) { return (vec)_mm512_min_ps((__m512)a, (__m512)b); }
static inline float total(vec a) { return _mm512_reduce_add_ps((__m512)a); }
static inline vec nearest(vec a) { return (vec)_mm512_roundscale_ps((__m512)a, 8); }
#else
static const ivec lane_bit = {1, 2, 4, 8, 16, 32, 64, 128, 256, 512, 1024, 2048, 4096, 8192, 16384, 32768};
static inline vec add_where(uint16_t bits, vec a, vec b) {
    ivec spread = (ivec){0} + (int32_t)bits;
    return a + (vec)((ivec)b & ((spread & lane_bit) != 0));
}
static inline vec larger(vec a, vec b) { return pick(a > b, a, b); }
static inline vec smaller(vec a, vec b) { return pick(a < b, a, b); }
static inline float total(vec a) {
    float sum[8];
    for (int i = 0; i < 8; i++) sum[i] = a[i] + a[i + 8];
    return ((sum[0] + sum[4]) + (sum[1] + sum[5])) + ((sum[2] + sum[6]) + (sum[3] + sum[7]));
}
static inline vec nearest(vec a) {
    vec magic = all(12582912.0f);
    return (a + magic) - magic;
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
    const vec *constant = (const vec *)constants;
    vec *w0 = (vec *)weights, *w1 = w0 + ROWS, zero = all(0.0f), one = all(1.0f);
    for (int64_t step = 0; step < n_patterns; step++) {
        const uint16_t *b0 = bits + order[step] * BLOCKS * ROWS, *b1 = b0 + ROWS;
        vec sum[BLOCKS], odd0 = zero, odd1 = zero, signal[BLOCKS], collected = zero;
        sum[0] = sum[1] = zero;
        for (int i = 0; i + 1 < ROWS; i += 2) {
            sum[0] = add_where(b0[i], sum[0], w0[i]);
            sum[1] = add_where(b1[i], sum[1], w1[i]);
            odd0 = add_where(b0[i + 1], odd0, w0[i + 1]);
            odd1 = add_where(b1[i + 1], odd1, w1[i + 1]);
        }
        sum[0] = add_where(b0[ROWS - 1], sum[0], w0[ROWS - 1]) + odd0;
        sum[1] = add_where(b1[ROWS - 1], sum[1], w1[ROWS - 1]) + odd1;
        for (int block = 0; block < BLOCKS; block++) {
            vec x = sum[block] * constant[block] + constant[BLOCKS + block];
            vec u = smaller(larger(gamma * (x - x_min), zero), all(30.0f));
            vec decay = exponential(-u), share = one / (one + decay);
            vec rise = 2.0f * (1.0f - x_min) * gamma * (decay * share * share);
            ivec low = x < x_min;
            vec output = pick(low, larger(x, zero), 2.0f * (1.0f - x_min) * share + (2.0f * x_min - 1.0f));
            vec slope = pick(low, pick(x > zero, one, zero), rise);
            collected += constant[2 * BLOCKS + block] * output;
            signal[block] = slope * constant[3 * BLOCKS + block];
        }
        float sign = signs[order[step]];
        float exponent = 2.0f * gamma_ce * sign * (total(collected) - soma_offset);
        exponent = fminf(fmaxf(exponent, -30.0f), 30.0f);
        vec soft_error = all(rate * sign) / (one + exponential(all(exponent)));
        vec d0 = soft_error * signal[0], d1 = soft_error * signal[1];
        for (int i = 0; i < ROWS; i++) {
            w0[i] = larger(add_where(b0[i], w0[i], d0), zero);
            w1[i] = larger(add_where(b1[i], w1[i], d1), zero);
        }
    }
}
