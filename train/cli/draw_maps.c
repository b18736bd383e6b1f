#include "train/cli/draw_maps.h"

#include <math.h>
#include <stdio.h>

#include "train/cli/cli.h"
#include "train/plot/plot.h"

void cli_map_begin(cli_maps *m) {
    if (m->n++ >= CLI_MAPS) return;
    m->map[m->n - 1] = (qkv_io_text){.arena = m->arena};
    qkv_io_text_add(&m->map[m->n - 1], "row,col,weight,target,row_label,col_label,title\n");
}

void cli_map_cell(cli_maps *m, int row, int col, double x, const char *row_label,
                  const char *col_label, const char *title) {
    if (m->n > CLI_MAPS) return;
    qkv_io_text *to = &m->map[m->n - 1];
    qkv_io_text_add(to, "%d,%d,", row, col);
    qkv_io_text_number(to, isnan(x) ? 0 : x);
    qkv_io_text_add(to, ",0,");
    qkv_io_text_label(to, row_label);
    qkv_io_text_add(to, ",");
    qkv_io_text_label(to, col_label);
    qkv_io_text_add(to, ",");
    qkv_io_text_label(to, title);
    qkv_io_text_add(to, "\n");
}

static void report(void *ctx, const char *name, qkv_io_status status, const char *text) {
    char shown[1024];
    (void)name;
    if (status != QKV_IO_OK) return;
    printf("%s%s\n", (const char *)ctx, qkv_io_printable(text, shown, sizeof shown));
}

int cli_maps_draw(const cli_maps *m, const char *command, const char *dir, bool quiet) {
    char error[QKV_IO_ERROR], probe[QKV_IO_PATH], path[QKV_IO_PATH], name[32];
    const qkv_io *io = &cli_files;
    bool ok = qkv_io_path(probe, dir, "probe", error) && qkv_io_make_directory(io, probe, error);
    for (int i = 0; ok && i < CLI_MAPS; i++) {
        snprintf(name, sizeof name, "example-%d.csv", i);
        if (!(ok = qkv_io_path(path, probe, name, error))) break;
        if (i >= m->n) {
            io->unlink(io->ctx, path);  // of an earlier call
            continue;
        }
        ok = m->map[i].failed ? qkv_io_fail(error, "out of memory")
                              : qkv_io_write_file(io, path, m->map[i].at, m->map[i].n, error);
    }
    if (!ok) return cli_error(CLI_FAILED, command, "%s", error);
    static char heading[] = "Picture  ";
    qkv_plot_example(dir, NULL, &(qkv_plot_style){0}, quiet ? NULL : report, heading);
    return CLI_OK;
}
