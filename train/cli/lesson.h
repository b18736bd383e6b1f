/* lesson.h - a lesson of one's own for the page (docs/lessons.md), read and checked. */
#ifndef QKV_CLI_LESSON_H
#define QKV_CLI_LESSON_H

#include <jansson.h>

#include "train/config/config.h"

/* The lesson in a file; the caller owns it (json_decref()). NULL with a sentence in error (QKV_IO_ERROR
 * bytes), which names the line, or the card and the key. */
json_t *cli_lesson_read(const char *path, char *error);

#endif
