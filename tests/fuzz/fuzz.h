/* fuzz.h - what the fuzz targets share. Each is one function over arbitrary bytes, which aborts
 * when a promise is broken: called by libFuzzer (`make fuzz`), and over the kept corpus by
 * tests/test_fuzz.c. */
#ifndef TESTS_FUZZ_FUZZ_H
#define TESTS_FUZZ_FUZZ_H

#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

#ifdef __cplusplus
extern "C" {
#endif

int fuzz_safetensors(const uint8_t *data, size_t n);
int fuzz_config(const uint8_t *data, size_t n);
int fuzz_options(const uint8_t *data, size_t n);
int fuzz_corpus(const uint8_t *data, size_t n);

/* Under libFuzzer a target has the one name that it looks for. */
#ifdef LIBFUZZER
#define FUZZ(name)                                                                      \
    int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n);                          \
    int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n) { return name(data, n); } \
    int name(const uint8_t *data, size_t n)
#else
#define FUZZ(name) int name(const uint8_t *data, size_t n)
#endif

#define PROMISE(condition)                                                          \
    do {                                                                            \
        if (!(condition)) {                                                         \
            fprintf(stderr, "%s:%d: broken: %s\n", __FILE__, __LINE__, #condition); \
            abort();                                                                \
        }                                                                           \
    } while (0)

#ifdef __cplusplus
}
#endif
#endif
