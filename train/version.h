/* version.h - what a run says about the program that made it. */
#ifndef TRAIN_VERSION_H
#define TRAIN_VERSION_H

#define TRAIN_VERSION "0.1.0"

#ifdef __clang__
#define TRAIN_COMPILER "clang " __clang_version__
#else
#define TRAIN_COMPILER "gcc " __VERSION__
#endif

#ifndef TRAIN_FLAGS
#define TRAIN_FLAGS ""  // the Makefile passes the flags in use
#endif

#endif
