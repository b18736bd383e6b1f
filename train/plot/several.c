/* several.c - the same curves of several runs. */
#include <stdlib.h>
#include <string.h>

#include "train/plot/columns.h"

/* "val_loss|loss accuracy" with every choice made for this table. */
static char *choose(const qkv_plot_table *t, const char *source) {
    char *chosen = calloc(strlen(source) + 2, 1), *words = strdup(source), *save = NULL;
    for (char *w = chosen && words ? strtok_r(words, " ", &save) : NULL; w;
         w = strtok_r(NULL, " ", &save)) {
        char *bar = strchr(w, '|');
        if (bar) {
            *bar = '\0';
            int col = qkv_plot_table_column(t, w);
            double x;
            bool has = false;
            for (int row = 0; row < t->rows; row++)
                has |= qkv_plot_number(qkv_plot_table_cell(t, row, col), &x);
            if (!has) w = bar + 1;
        }
        strcat(strcat(chosen, *chosen ? " " : ""), w);
    }
    if (!words) {
        free(chosen);
        chosen = NULL;
    }
    free(words);
    return chosen;
}

static qkv_plot_status write_run(FILE *out, const char *run, const char *source, char *why) {
    qkv_plot_table t;
    int step = -1;
    qkv_plot_columns c = {0};
    char *chosen = NULL;
    qkv_plot_status status = qkv_plot_metrics_read(&t, &step, run, why);
    if (status == QKV_PLOT_OK) chosen = choose(&t, source);
    if (status == QKV_PLOT_OK && (!chosen || !qkv_plot_columns_find(&c, &t, chosen))) {
        status = qkv_plot_say(why, "out of memory");
    }
    if (status == QKV_PLOT_OK) {
        qkv_plot_label(out, run, 48);
        for (int i = 0; i < c.n; i++) fprintf(out, ",%s", c.heading[i]);
        putc('\n', out);
        if (!qkv_plot_columns_write(out, &t, step, &c))
            status = qkv_plot_say(why, "%s/metrics.csv has no numbers for it", run);
    }
    free(chosen);
    qkv_plot_columns_free(&c);
    qkv_plot_table_free(&t);
    return status == QKV_PLOT_OK ? status : QKV_PLOT_FAILED;
}

qkv_plot_status qkv_plot_several(FILE *out, const char *const *runs, int n, const char *source,
                                 char *why) {
    qkv_plot_status status = QKV_PLOT_OK;
    for (int i = 0; i < n && status == QKV_PLOT_OK; i++) {
        if (i) fputs("\n\n", out);
        status = write_run(out, runs[i], source, why);
    }
    return status;
}
