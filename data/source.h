/* source.h - the files that tasks read, and whether they are still the same. */
#pragma once

#include "data/corpus.h"

enum { DATA_CHECKSUM = 24 };  // room for a checksum as text

/* Reads n files into source[i].text and .n (their names stand in .name), and compares the checksum
 * of all with `checksum`, which is filled in if it is empty. False with one sentence in error; to be
 * released in any case. */
bool data_sources_read(const data_files *files, data_source *source, int n,
                       char checksum[DATA_CHECKSUM], char *error, size_t size);

/* False with a sentence: it begins as a file does that holds text in some other form. */
bool data_source_is_text(const data_source *s, char *error, size_t size);

void data_sources_release(const data_files *files, data_source *source, int n);
