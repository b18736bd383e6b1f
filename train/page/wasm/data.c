/* data.c - train/io/data.c where there are no files: names stand for texts that the page has lent. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "data/data.h"
#include "train/io/io.h"
#include "train/page/lend.h"

enum { MOST = 4 };
static struct { char *name, *text; } lent[MOST];

bool qkv_page_lend(const char *name, const char *text) {
    int i = 0;
    while (i < MOST - 1 && lent[i].name && strcmp(lent[i].name, name) != 0) i++;
    free(lent[i].name);
    free(lent[i].text);
    lent[i].name = strdup(name);
    lent[i].text = strdup(text);
    return lent[i].name && lent[i].text;
}

static bool read_bytes(void *ctx, const char *path, char **bytes, size_t *n, char *error,
                       size_t size) {
    (void)ctx;
    *bytes = NULL;
    for (int i = 0; i < MOST && !*bytes; i++)
        if (lent[i].name && strcmp(lent[i].name, path) == 0) *bytes = strdup(lent[i].text);
    *n = *bytes ? strlen(*bytes) : 0;
    if (!*bytes)
        snprintf(error, size, "the page has no file '%.100s': put its text into the box", path);
    return *bytes != NULL;
}

static void release_bytes(void *ctx, char *bytes) {
    (void)ctx;
    free(bytes);
}

const data_files qkv_io_data = {read_bytes, release_bytes, NULL};
