/* source.c - reading files through whatever was given for it. */
#include "data/source.h"

#include <stdio.h>
#include <string.h>

#include "data/visible.h"

/* A run that is known names its files: what to do if one is not what it was. */
static bool lost(const char *why, const char *checksum, char *error, size_t size) {
    snprintf(error, size, "%s%s", why,
             *checksum
                 ? "; if it was moved, name its new place: --data FILE, or the directory of its "
                   "files"
                 : "");
    return false;
}

bool data_sources_read(const data_files *files, data_source *source, int n,
                       char checksum[DATA_CHECKSUM], char *error, size_t size) {
    uint64_t hash = 0;
    char now[DATA_CHECKSUM], why[512], name[256];
    data_visible_text(source->name, name, sizeof name);
    if (!files) return snprintf(error, size, "'%s': here no files are read", name), false;
    for (int i = 0; i < n; i++) {
        char *bytes = NULL;
        if (!files->read(files->ctx, source[i].name, &bytes, &source[i].n, why, sizeof why))
            return lost(why, checksum, error, size);
        source[i].text = bytes;
        hash = data_hash(hash, bytes, source[i].n);
    }
    snprintf(now, sizeof now, "%016llx", (unsigned long long)hash);
    if (*checksum && strcmp(checksum, now) != 0) {
        snprintf(error, size,
                 "'%s' has changed since, or is another file: its checksum is %s and not %s; name "
                 "the old one with --data FILE, or train anew",
                 name, now, checksum);
        return false;
    }
    strcpy(checksum, now);
    return true;
}

bool data_source_is_text(const data_source *s, char *error, size_t size) {
    static const struct {
        const char *begins, *what;
    } known[] = {{"\x1f\x8b", "packed by gzip: unpack it first"},
                 {"BZh91AY&SY", "packed by bzip2: unpack it first"},
                 {"\xfd"
                  "7zXZ",
                  "packed by xz: unpack it first"},
                 {"\x28\xb5\x2f\xfd", "packed by zstd: unpack it first"},
                 {"PK\x03\x04", "a zip archive, or a document in one: save it as plain text"},
                 {"%PDF-", "a PDF: save it as plain text"},
                 {"\xff\xfe", "UTF-16: save it as UTF-8"},
                 {"\xfe\xff", "UTF-16: save it as UTF-8"}};
    char name[256];
    for (size_t i = 0; i < sizeof known / sizeof *known; i++) {
        const size_t length = strlen(known[i].begins);
        if (s->n < length || memcmp(s->text, known[i].begins, length) != 0) continue;
        snprintf(error, size, "'%s' is %s", data_visible_text(s->name, name, sizeof name),
                 known[i].what);
        return false;
    }
    return true;
}

void data_sources_release(const data_files *files, data_source *source, int n) {
    for (int i = 0; i < n; i++)
        if (source[i].text) files->release(files->ctx, (char *)(size_t)source[i].text);
}
