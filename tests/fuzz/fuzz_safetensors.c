/* fuzz_safetensors.c - any bytes as a file that is read as tensors, as a checkpoint, and into a
 * model.
 *
 * Random bytes rarely pass the first checks, so that the first byte says how a file is made of the
 * others: even                    they are the file odd                     two bytes: bytes of
 * data; then the header's text. Its length is put before it and bit 1               the checksum is
 * made right Bit 2 says which reader it meets: that of tensors, or those of checkpoints. Promises:
 * memory is asked for in proportion to the file; what is accepted covers the file exactly; a
 * refusal says why, in one printable line, and leaves the model and the progress alone; nothing is
 * left open or allocated. */
#include <string.h>

#include "tests/fuzz/fuzz.h"
#include "train/io/safetensors_internal.h"
#include "train/run/checkpoint.h"

/* ---- a file in memory, and memory that is counted ---- */

typedef struct {
    const uint8_t *bytes;
    size_t n, at;
    int open;
    size_t asked;  // bytes of memory asked for since the file was opened
    long live;
} file;

static int file_open(void *ctx, const char *path, int flags) {
    file *f = ctx;
    (void)path, (void)flags;
    f->at = f->asked = 0;
    return f->open++, 3;
}

static ssize_t file_read(void *ctx, int fd, void *to, size_t n) {
    file *f = ctx;
    (void)fd;
    if (n > f->n - f->at) n = f->n - f->at;
    if (n) memcpy(to, f->bytes + f->at, n);
    f->at += n;
    return (ssize_t)n;
}

static int file_size(void *ctx, int fd, uint64_t *bytes) {
    (void)fd;
    return *bytes = ((file *)ctx)->n, 0;
}

static int file_close(void *ctx, int fd) {
    (void)fd;
    return ((file *)ctx)->open--, 0;
}

/* A tensor of n bytes' header costs a fixed struct; {"":1} is 6 bytes of JSON. */
static void *counted(void *ctx, size_t size) {
    file *f = ctx;
    f->asked += size;
    PROMISE(f->asked <= (1 << 20) + 256 * f->n);
    void *p = malloc(size);
    f->live += p != NULL;
    return p;
}

static void release(void *ctx, void *block) {
    ((file *)ctx)->live--;
    free(block);
}

/* ---- the model ---- */

enum { SAVED = 5 };

static qkv_trainer *model(void) {
    static qkv_trainer *t;
    qkv_config c;
    data_spec spec;
    char error[QKV_IO_ERROR];
    if (t) return t;
    qkv_config_default(&c);
    qkv_config_choose(&c, "pairs", 2);
    qkv_config_choose(&c, "keys", 3);
    qkv_config_choose(&c, "values", 3);
    c.d_model = c.batch = c.lanes = 1;
    c.optimizer = QKV_OPTIM_SGD;
    if (!qkv_config_resolve(&c, &spec, error) || !(t = qkv_trainer_new(NULL, &c, &spec, 1, error)))
        abort();
    return t;
}

static uint32_t model_sum(void) {
    uint32_t sum = 2166136261u;
    ag_params *p = qkv_trainer_params(model());
    for (int i = 0; i < ag_params_count(p); i++) {
        const ag_param_entry *e = ag_params_at(p, i);
        const unsigned char *x = (const unsigned char *)e->val.x;
        for (size_t k = 0; k < e->val.n * sizeof(real); k++) sum = (sum ^ x[k]) * 16777619u;
    }
    return sum;
}

/* ---- the promises ---- */

static void check_said(qkv_io_status status, const char *error) {
    if (status == QKV_IO_OK) return;
    PROMISE(status == QKV_IO_DAMAGED);  // this file can always be read, and memory is not out
    PROMISE(error[0] && strlen(error) < QKV_IO_ERROR);
}

static void check_sentence(qkv_io_status status, const char *error) {
    char shown[QKV_IO_ERROR];
    check_said(status, error);
    if (status != QKV_IO_OK)
        PROMISE(strcmp(qkv_io_printable(error, shown, sizeof shown), error) == 0);
}

/* The product of the shape, where it cannot wrap around. */
static bool has_bytes_of_shape(const qkv_io_stored *t) {
    long double bytes = (long double)qkv_io_dtype_size(t->dtype);
    for (int i = 0; i < t->rank; i++) bytes *= (long double)t->dim[i];
    return bytes == (long double)t->bytes;
}

static void read_tensors(const qkv_io *io, const tensor_allocator *mem, size_t size) {
    qkv_io_safetensors s;
    char error[QKV_IO_ERROR] = "";
    qkv_io_status status = qkv_io_safetensors_open(&s, io, mem, "a file", error);
    check_sentence(status, error);
    if (status != QKV_IO_OK) return;
    size_t covered = 0, sum = 0;
    for (int i = 0; i < s.n; i++) {
        PROMISE(s.tensor[i].offset == covered && !s.tensor[i].data);
        PROMISE(has_bytes_of_shape(&s.tensor[i]));
        covered += s.tensor[i].bytes;
    }
    PROMISE(covered == s.data_bytes && 8 + s.header + covered == size);
    status = qkv_io_safetensors_load(&s, error);
    check_sentence(status, error);
    for (int i = 0; status == QKV_IO_OK && i < s.n; i++)
        for (size_t k = 0; k < s.tensor[i].bytes; k++)
            sum += ((const unsigned char *)s.tensor[i].data)[k];
    for (int i = 0; i < s.n_notes; i++)
        PROMISE(qkv_io_safetensors_note(&s, s.note[i].key) == s.note[i].value);
    for (int i = 0; i < s.n; i++)
        PROMISE(qkv_io_safetensors_find(&s, s.tensor[i].name) == &s.tensor[i]);
    PROMISE(sum <= 255 * size);
    qkv_io_safetensors_close(&s);
}

static void read_checkpoint(const qkv_io *io, const tensor_allocator *mem) {
    char error[QKV_IO_ERROR] = "";
    qkv_config c;
    memset(&c, 0x5a, sizeof c);
    qkv_io_status check = qkv_run_checkpoint_check(io, mem, "a file", error);
    check_sentence(check, error);
    qkv_io_status config = qkv_run_checkpoint_config(io, mem, "a file", NULL, &c, error);
    check_said(
        config,
        error);  // may quote the configuration as it stands: cli_error() makes that printable
    if (config != QKV_IO_OK) PROMISE(c.steps == 0x5a5a5a5a);
    uint32_t before = model_sum();
    qkv_run_progress p = {SAVED, SAVED, SAVED};
    qkv_io_status restored = qkv_run_restore(io, model(), &p, "a file", error);
    check_sentence(restored, error);
    if (restored == QKV_IO_OK)
        PROMISE(check == QKV_IO_OK && p.step >= 0 && p.best_step >= -1 && p.best_step <= p.step);
    else
        PROMISE(model_sum() == before && p.step == SAVED && p.best_step == SAVED);
}

static uint8_t *make_file(const uint8_t *data, size_t n, size_t *size) {
    bool framed = data[0] & 1;
    size_t room = framed && n > 2 ? data[1] + 256u * (data[2] & 7) : 0,
           skip = framed && n > 2 ? 3 : 1;
    size_t header = n - skip;
    *size = framed ? 8 + header + room : header;
    uint8_t *f = calloc(*size + 1, 1), *digits;
    if (!f) abort();
    for (int i = 0; framed && i < 8; i++) f[i] = (uint8_t)((uint64_t)header >> 8 * i);
    memcpy(f + (framed ? 8 : 0), data + skip, header);
    if (framed && data[0] & 2 && (digits = qkv_io_safetensors_digits(f, 8 + header)) != NULL) {
        char crc[9];
        snprintf(crc, sizeof crc, "%08x",
                 qkv_io_safetensors_crc(f, 8 + header, digits, f + 8 + header, room));
        memcpy(digits, crc, 8);
    }
    return f;
}

FUZZ(fuzz_safetensors) {
    if (n == 0) return 0;
    file f = {0};
    model();
    uint8_t *bytes = make_file(data, n, &f.n);
    f.bytes = bytes;
    qkv_io io = {
        .open = file_open, .read = file_read, .size = file_size, .close = file_close, .ctx = &f};
    tensor_allocator mem = {counted, release, &f};
    if (data[0] & 4)
        read_checkpoint(&io, &mem);
    else
        read_tensors(&io, &mem, f.n);
    PROMISE(f.open == 0 && f.live == 0);
    free(bytes);
    return 0;
}
