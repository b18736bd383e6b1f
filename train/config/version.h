/* version.h - what a run says about the program that made it. */
#ifndef QKV_CONFIG_VERSION_H
#define QKV_CONFIG_VERSION_H

#define QKV_VERSION "0.1.0"

#ifdef __clang__
#define QKV_COMPILER "clang " __clang_version__
#else
#define QKV_COMPILER "gcc " __VERSION__
#endif

#ifndef QKV_FLAGS
#define QKV_FLAGS ""  // the Makefile passes the flags in use
#endif

#endif
