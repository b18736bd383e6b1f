/* Checkpoints that are wrong, as the page's engine opens them: each is refused with its sentence, and the
 * run that was open stays as it was. test_page_reader.sh gives the same files to the engine compiled to
 * WebAssembly, which must say the same: with READER_OUT=DIR the files go to DIR/files (length, bytes), and
 * what was said to DIR/said, a line each. */
#include <stdlib.h>
#include <string.h>

#include "tensor/rng.h"
#include "tests/lib/faults.h"
#include "train/io/safetensors_internal.h"
#include "train/page/engine_internal.h"
#include "train/run/checkpoint.h"

#define FILE_NAME "bad.safetensors"
#define OPTIONS   "pairs=2\nkeys=3\nvalues=3\nd-model=4\nbatch=4\nsteps=20\neval-examples=8"

/* A file in memory: 8 bytes of length, the header, the data. */
typedef struct {
    unsigned char *at;
    size_t n, header;
} image;

static qkv_page *page;
static image good;
static uint32_t kept;  // the checksum of the run that is open
static FILE *files, *said;

static uint32_t sum_of_run(void) {
    return qkv_run_layout_checksum(&page->run->layout, true) ^ (uint32_t)qkv_page_step(page);
}

static void read_length(image *f) {
    f->header = 0;
    for (int i = 7; i >= 0; i--) f->header = f->header << 8 | f->at[i];
}

/* Its checksum is that of what it holds, where it still has one. */
static void set_sum(image *f) {
    if (f->n < 8 || f->header > f->n - 8) return;
    unsigned char *digits = qkv_io_safetensors_digits(f->at, 8 + f->header);
    if (!digits) return;
    char crc[9];
    snprintf(crc, sizeof crc, "%08x",
             qkv_io_safetensors_crc(f->at, 8 + f->header, digits, f->at + 8 + f->header,
                                    f->n - 8 - f->header));
    memcpy(digits, crc, 8);
}

/* Of that header and the good file's data. */
static image with_header(const char *header, size_t length) {
    const size_t data = good.n - 8 - good.header;
    image f = {malloc(8 + length + data), 8 + length + data, length};
    for (int i = 0; i < 8; i++) f.at[i] = (unsigned char)((uint64_t)length >> 8 * i);
    memcpy(f.at + 8, header, length);
    memcpy(f.at + 8 + length, good.at + 8 + good.header, data);
    return f;
}

static image copy(void) {
    image f = {malloc(good.n), good.n, good.header};
    memcpy(f.at, good.at, good.n);
    return f;
}

/* Opens it and frees it; the sentence, or "" where it is accepted. What follows from either. */
static const char *open_image(image f) {
    static char sentence[QKV_IO_ERROR];
    faults_put(FILE_NAME, f.at, f.n);
    if (qkv_page_open_checkpoint(page, FILE_NAME)) {
        snprintf(sentence, sizeof sentence, "step %d", qkv_page_step(page));
    } else {
        snprintf(sentence, sizeof sentence, "%s", qkv_page_error(page));
        assert_true(sentence[0] && !strchr(sentence, '\n') && strncmp(sentence, "step ", 5));
        assert_int_equal(sum_of_run(), kept);
    }
    if (files) {
        const unsigned char length[4] = {(unsigned char)f.n, (unsigned char)(f.n >> 8),
                                         (unsigned char)(f.n >> 16), (unsigned char)(f.n >> 24)};
        assert_true(fwrite(length, 4, 1, files) == 1 && (!f.n || fwrite(f.at, f.n, 1, files) == 1));
        fprintf(said, "%s\n", sentence);
    }
    free(f.at);
    if (strncmp(sentence, "step ", 5) != 0) return sentence;
    if (!qkv_page_start(page, OPTIONS)) fail_msg("%s", qkv_page_error(page));
    assert_int_equal(sum_of_run(), kept);
    return "";
}

static void expect(image f, const char *what, const char *sentence) {
    const char *is = open_image(f);
    if (sentence ? !strstr(is, sentence) : *is != '\0')
        fail_msg("%s: \"%s\"\n and not \"%s\"", what, is, sentence ? sentence : "");
}

/* ---- headers ---- */

/* In the good file's header, the first `from` behind the first `mark` becomes `to`. */
static const struct {
    const char *mark, *from, *to, *sentence;
} EDITS[] = {
    {"", "{", "{", NULL},
    {"state.best_step", "[8,16]", "[0,8]", "tensor 'state.best_step' overlaps another"},
    {"state.best_step", "[8,16]", "[9,17]", "tensor 'state.best_step' stands after a hole"},
    {"state.best_step", "[8,16]", "[16,24]", "stands after a hole"},
    {"state.best_step", "[8,16]", "[16,8]", "ends before it begins"},
    {"state.best_step", "[8,16]", "[-8,0]", "has data_offsets that are not two sizes"},
    {"state.best_step", "[8,16]", "[8.0,16]", "has data_offsets that are not two sizes"},
    {"state.best_step", "[8,16]", "[7.5,15.5]", "has data_offsets that are not two sizes"},
    {"state.best_step", "[8,16]", "[8,1.6e1]", "has data_offsets that are not two sizes"},
    {"state.best_step", "[8,16]", "[8,4294967312]", "has another number of bytes than its shape"},
    {"state.best_step", "[8,16]", "[4294967304,4294967312]", "stands after a hole"},
    {"state.best_step", "[8,16]", "[8,18446744073709551632]", "a number beyond 64 bits"},
    {"state.best_step", "[8,16]", "[8]", "has data_offsets that are not two sizes"},
    {"state.best_step", "[8,16]", "[8,16,24]", "has data_offsets that are not two sizes"},
    {"state.best_step", "[8,16]", "{\"0\":8,\"1\":16}", "has data_offsets that are not two sizes"},
    {"state.best_step", "\"shape\":[]", "\"shape\":[4294967296,4294967296]",
     "has a shape beyond all memory"},
    {"state.best_step", "\"shape\":[]", "\"shape\":[4294967296]",
     "has another number of bytes than its shape"},
    {"state.best_step", "\"shape\":[]", "\"shape\":[1]", "'state.best_step' is [1], not []"},
    {"state.best_step", "\"shape\":[]", "\"shape\":[1.0]", "has a dimension that is no size"},
    {"state.best_step", "\"shape\":[]", "\"shape\":[1,1,1,1,1,1,1,1,1]", "has too many dimensions"},
    {"state.best_step", "I64", "F64", "'state.best_step' is F64, not I64"},
    {"state.best_step", "I64", "I65", "has an unknown dtype"},
    {"state.best_step", "I64", "__proto__", "has an unknown dtype"},
    {"state.best_step", "\"dtype\":\"I64\"", "\"dtype\":\"I64\",\"dtype\":\"I64\"",
     "duplicate object key"},
    {"state.best_step", "\"dtype\":\"I64\"", "\"dtype\":\"I64\",\"more\":0",
     "has an unknown field"},
    {"state.best_step", "\"dtype\"", "\"__proto__\"", "has no dtype"},
    {"state.best_step", "state.best_step", "__proto__", "it lacks 'state.best_step'"},
    {"state.best_step", "state.best_step", "state.step", "duplicate object key"},
    {"state.best_step", "state.best_step", "state\\u002estep", "duplicate object key"},
    {"layer0.attn.wq", "layer0.attn.wq", "__proto__",
     "it lacks 'layer0.attn.wq'; it also has '__proto__'"},
    {"layer0.attn.wq", "layer0.attn.wq", "constructor", "it also has 'constructor'"},
    {"state.best_step", "state.best_step", "a\\u0000b", "\\u0000 is no character"},
    {"state.best_step", "state.best_step", "a\xff", "no UTF-8"},
    {"state.best_step", "state.best_step", "a\xed\xa0\x80", "no UTF-8"},
    {"state.best_step", "state.best_step", "a\\ud800", "half of a surrogate pair"},
    {"state.best_step", "state.best_step", "a\\udc00\\ud800", "half of a surrogate pair"},
    {"state.best_step", "state.best_step", "a\x1f", "a control character within a string"},
    {"state.best_step", "state.best_step", "a\\x41", "no such escape"},
    {"layer0.attn.wq", "layer0.attn.wq", "\\u001b[2J", "it also has '?[2J'"},
    {"", "\"__metadata__\":", "\"__metadata__\":1,\"x\":", "__metadata__ is not an object"},
    {"", "__metadata__", "__meta__", "'__meta__' has no dtype"},
    {"__metadata__", "\"format\":\"qkv-checkpoint-1\"", "\"format\":\"qkv-checkpoint-2\"",
     "is no checkpoint: its format is 'qkv-checkpoint-2', not 'qkv-checkpoint-1'"},
    {"__metadata__", "\"format\":\"qkv-checkpoint-1\"", "\"format\":1",
     "__metadata__ holds something else but strings"},
    {"__metadata__", "\"format\":\"qkv-checkpoint-1\"", "\"format\":null",
     "__metadata__ holds something else but strings"},
    {"__metadata__", "\"format\"", "\"formaT\"", "its format is ''"},
    {"__metadata__", "\"crc32\"", "\"crc33\"", "is damaged: it lacks 'crc32'"},
    {"__metadata__", "\"config\":", "\"configs\":", "is damaged: it lacks 'config'"},
    {"\"config\"", "{\\n", "[\\n", "its 'config' is wrong: line 2, column 9"},
    {"\"config\"", "\\\"steps\\\": 20", "\\\"steps\\\": \\\"20\\\"",
     "its 'config' is wrong: 'steps' has a value of the wrong type"},
    {"\"config\"", "\\\"steps\\\": 20", "\\\"steps\\\": 20.5",
     "its 'config' is wrong: 'steps' has a value of the wrong type"},
    {"\"config\"", "\\\"steps\\\": 20", "\\\"steps\\\": 20, \\\"steps\\\": 20",
     "duplicate object key"},
    {"\"config\"", "\\\"steps\\\": 20", "\\\"__proto__\\\": 20", "no option '__proto__'"},
    {"\"config\"", "\\\"steps\\\": 20", "\\\"steps\\\": 1e999", "a number that no double can be"},
    {"\"config\"", "\\\"steps\\\": 20", "\\\"steps\\\": -20", "'steps': "},
    {"\"config\"", "\\\"steps\\\": 20", "\\\"steps\\\": 4294967316", "'steps': "},
    {"\"config\"", "\\\"steps\\\": 20", "\\\"steps\\\": 6",
     "'" FILE_NAME "' is of step 7, the run has 6"},
    {"\"config\"", "\\\"d_model\\\": 4", "\\\"d_model\\\": 5", "is no checkpoint of this model: "},
    {"\"config\"", "\\\"task\\\": \\\"pairs\\\"", "\\\"task\\\": \\\"pears\\\"", "no task 'pears'"},
    {"\"config\"", "\\\"layers\\\": 1", "\\\"layers\\\": 2", "it lacks 'layer1."},
    {"layer0.attn.wq", "F32", "F16", "another number of bytes"},
    {"layer0.attn.wq", "layer0.attn.wq", "layer0.attn.wz", "it lacks 'layer0.attn.wq'"},
};

/* The header with that edit; NULL: there is nothing to edit. malloc'd. */
static char *edited(size_t i, size_t *length) {
    char *from = strndup((const char *)good.at + 8, good.header), *header = NULL;
    const char *at = strstr(from, EDITS[i].mark);
    if (at) at = strstr(at, EDITS[i].from);
    if (at) {
        *length = good.header - strlen(EDITS[i].from) + strlen(EDITS[i].to);
        header = malloc(*length + 1);
        snprintf(header, *length + 1, "%.*s%s%s", (int)(at - from), from, EDITS[i].to,
                 at + strlen(EDITS[i].from));
    }
    free(from);
    return header;
}

static void wrong_headers_are_named(void **state) {
    (void)state;
    int n = 0;
    for (size_t i = 0; i < sizeof EDITS / sizeof *EDITS; i++) {
        size_t length = 0;
        char *header = edited(i, &length);
        if (!header && sizeof(real) == 8) continue;  // F64 where F32 is looked for
        if (!header) fail_msg("there is no '%s' behind '%s'", EDITS[i].from, EDITS[i].mark);
        image f = with_header(header, length);
        set_sum(&f);
        expect(f, EDITS[i].to, EDITS[i].sentence);
        free(header);
        n++;
    }
    assert_true(n > 50);
}

static void long_and_deep_headers_are_named(void **state) {
    (void)state;
    static char text[QKV_IO_ST_HEADER + 1];
    memset(text, ' ', sizeof text);
    memcpy(text, "{}", 2);
    expect(with_header(text, QKV_IO_ST_HEADER), "a long header", "its header describes 0");
    expect(with_header(text, QKV_IO_ST_HEADER + 1), "a longer one", "is longer than 1048576");
    memset(text, '[', sizeof text);
    memcpy(text, "{\"a\":", 5);
    expect(with_header(text, QKV_IO_ST_HEADER), "a deep one", "too many brackets");
    memset(text, ',', sizeof text);
    memcpy(text, "{\"a\":[1", 7);
    expect(with_header(text, QKV_IO_ST_HEADER), "commas", "a value is expected");
    expect(with_header("", 0), "no header", "its header does not begin with '{'");
    image f = copy();
    memset(f.at, 0xff, 8);
    expect(f, "the longest", "a header of 18446744073709551615 bytes is longer than 1048576");
    f = copy();
    f.at[7] = 0x80;  // a negative number, if it were one with a sign
    expect(f, "a sign", "bytes is longer than 1048576");
    f = copy();
    f.at[4] = 1;  // plus 2^32
    expect(f, "beyond 32 bits", "bytes is longer than 1048576");
}

/* ---- data ---- */

static void put_step(image f, int which, int64_t step) {
    memcpy(f.at + 8 + f.header + 8 * which, &step, sizeof step);
}

static void wrong_steps_are_named(void **state) {
    (void)state;
    static const struct {
        int64_t step;
        const char *sentence;
    } steps[] = {{0, NULL},
                 {20, NULL},
                 {21, "is of step 21, the run has 20"},
                 {INT32_MAX, "is of step 2147483647, the run has 20"},
                 {-1, "is damaged: 'state.step' is no step"},
                 {INT64_MIN, "is damaged: 'state.step' is no step"},
                 {(int64_t)1 << 31, "is damaged: 'state.step' is no step"},
                 {((int64_t)1 << 32) + 7, "is damaged: 'state.step' is no step"},
                 {INT64_MAX, "is damaged: 'state.step' is no step"}};
    for (size_t i = 0; i < sizeof steps / sizeof *steps; i++) {
        image f = copy();
        put_step(f, 0, steps[i].step);
        put_step(f, 1, -1);
        set_sum(&f);
        expect(f, "a step", steps[i].sentence);
    }
    image f = copy();
    put_step(f, 1, 8);
    set_sum(&f);
    expect(f, "a best step", "is damaged: 'state.best_step' is no step");
}

static void lengths_are_not_trusted(void **state) {
    (void)state;
    for (size_t n = 0; n <= good.n + 9; n += n < 24 ? 1 : n < good.n - 1 ? 97 : 1) {
        if (n == good.n) continue;
        image f = {calloc(n + 1, 1), n, good.header};
        memcpy(f.at, good.at, n < good.n ? n : good.n);
        expect(f, "another length", "is damaged: ");
    }
}

/* ---- chance ---- */

/* A bit that has flipped is always seen, by the checksum if not before. */
static void flipped_bits_are_seen(void **state) {
    (void)state;
    for (size_t bit = 0; bit < 8 * good.n; bit += bit < 8 * 300 ? 5 : 61) {
        image f = copy();
        f.at[bit / 8] ^= (unsigned char)(1 << bit % 8);
        expect(f, "a flipped bit", FILE_NAME);
    }
}

/* Bytes of the header changed, moved and doubled, with the right checksum: it is up to reader and run what
 * becomes of that. */
static void spoil(image *f, rng *g) {
    static const char spare[] = "\"\\{}[],:0123456789-.eEtfnu __proto__\x80\xff";
    for (uint32_t k = 1 + rng_below(g, 4); k > 0; k--) {
        unsigned char *at = f->at + 8 + rng_below(g, (uint32_t)f->header),
                      *end = f->at + 8 + f->header;
        size_t left = (size_t)(end - at), n = 1 + rng_below(g, 12);
        if (n > left) n = left;
        switch (rng_below(g, 3)) {
            case 0: *at = (unsigned char)spare[rng_below(g, sizeof spare - 1)]; break;
            case 1: memmove(at, at + n, left - n), memset(end - n, ' ', n); break;  // shorter
            default: memmove(at + n, at, left - n);                                 // longer
        }
    }
}

static void spoilt_headers_are_survived(void **state) {
    (void)state;
    const char *runs = getenv("READER_RUNS");
    const long most = runs ? atol(runs) : 600;
    int taken = 0;
    for (long i = 0; i < most; i++) {
        rng g = rng_stream(1, "spoilt", (uint64_t)i);
        image f = copy();
        spoil(&f, &g);
        read_length(&f);
        set_sum(&f);
        taken += open_image(f)[0] == '\0';
    }
    assert_true(taken < most);  // most of them cannot be what they were
}

/* ---- the page ---- */

static int begin(void **state) {
    const char *out = getenv("READER_OUT");
    char path[4096];
    size_t n;
    page = qkv_page_open();
    if (!page || !qkv_page_start(page, OPTIONS) || !qkv_page_go(page, 7, 100)) return 1;
    good.at = qkv_page_save(page, &n);
    good.n = n;
    read_length(&good);
    if (!qkv_page_start(page, OPTIONS)) return 1;
    kept = sum_of_run();
    if (!out) return 0;
    files = fopen(strcat(strcpy(path, out), "/files"), "wb");
    said = fopen(strcat(strcpy(path, out), "/said"), "w");
    (void)state;
    return !files || !said;
}

static int end(void **state) {
    (void)state;
    free(good.at);
    qkv_page_close(page);
    return (files && fclose(files)) || (said && fclose(said));
}

int main(void) {
    static const struct CMUnitTest tests[] = {
        faults_test(wrong_headers_are_named), faults_test(long_and_deep_headers_are_named),
        faults_test(wrong_steps_are_named),   faults_test(lengths_are_not_trusted),
        faults_test(flipped_bits_are_seen),   faults_test(spoilt_headers_are_survived),
    };
    if (begin(NULL)) return 1;
    int failed = check_run(tests, sizeof tests / sizeof *tests);
    return end(NULL) || failed;
}
