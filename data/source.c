/* source.c - reading files through whatever was given for it. */
#include "data/source.h"

#include <stdio.h>
#include <string.h>

bool data_sources_read(const data_files *files, data_source *source, int n,
                       char checksum[DATA_CHECKSUM], char *error, size_t size) {
    uint64_t hash = 0;
    char now[DATA_CHECKSUM];
    if (!files) return snprintf(error, size, "'%s': here no files are read", source->name), false;
    for (int i = 0; i < n; i++) {
        char *bytes = NULL;
        if (!files->read(files->ctx, source[i].name, &bytes, &source[i].n, error, size))
            return false;
        source[i].text = bytes;
        hash = data_hash(hash, bytes, source[i].n);
    }
    snprintf(now, sizeof now, "%016llx", (unsigned long long)hash);
    if (*checksum && strcmp(checksum, now) != 0) {
        snprintf(error, size, "'%s' has changed since: its checksum is %s and not %s", source->name,
                 now, checksum);
        return false;
    }
    strcpy(checksum, now);
    return true;
}

void data_sources_release(const data_files *files, data_source *source, int n) {
    for (int i = 0; i < n; i++)
        if (source[i].text) files->release(files->ctx, (char *)(size_t)source[i].text);
}
