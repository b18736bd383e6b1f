/* given.h - how a call that leaves a sentence refuses NULL; internal to train/. */
#pragma once

#include "train/io/io.h"

/* Is none of these pointers NULL? If one is, error says which, of which call; error NULL: false. */
#define QKV_IO_GIVEN(error, ...)                                         \
    qkv_io_given(error, __func__, #__VA_ARGS__,                          \
                 sizeof((const void *[]){__VA_ARGS__}) / sizeof(void *), \
                 (const void *const[]){__VA_ARGS__})

bool qkv_io_given(char *error, const char *call, const char *names, size_t n,
                  const void *const *given);
