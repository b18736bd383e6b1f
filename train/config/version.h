/* version.h - what a run says about the program that made it. */
#pragma once

#define QKV_VERSION "0.1.0"

/* The version of the engine's numbers: another one where the same configuration gives other bits. 2: the
 * last layer computes the rows that are scored, so that gradients are summed in another order. */
#define QKV_NUMBERS "2"

#ifdef __clang__
#define QKV_COMPILER "clang " __clang_version__
#else
#define QKV_COMPILER "gcc " __VERSION__
#endif

#ifndef QKV_FLAGS
#define QKV_FLAGS ""  // the Makefile passes the flags in use
#endif
