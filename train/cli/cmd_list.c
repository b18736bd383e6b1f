/* cmd_list.c - qkv list: the catalogues. */
#include <stdio.h>
#include <string.h>

#include "train/cli/cli.h"
#include "train/plot/plot.h"
#include "train/study/probe.h"

static void list_tasks(void) {
    for (int i = 0; data_tasks[i]; i++)
        printf("%-12s %s\n", data_tasks[i]->name, data_tasks[i]->summary);
}

static void list_ops(void) {
#define AG_OP(name, arguments, shapes, formula) \
    printf("%-14s %s\n%15s%s\n", #name, formula, "", shapes);
#include "autograd/ops.def"
#undef AG_OP
}

static void list_layers(void) {
    for (const nn_layer *l = nn_layers; l->name; l++)
        printf("%-12s %s\n%13s%s\n", l->name, l->formula, "", l->shapes);
}

static void list_plots(void) {
    for (const qkv_plot_info *p = qkv_plot_list(); p->name; p++)
        printf("%-12s %s%s\n", p->name, p->shows,
               p->of == QKV_PLOT_OF_RUNS ? " (several runs)" : "");
}

static void list_probes(void) {
    for (const qkv_study_probe *p = qkv_study_probe_table; p->name; p++)
        printf("%-16s %s\n", p->name, p->finds);
}

static const struct {
    const char *name;
    void (*list)(void);
} lists[] = {{"tasks", list_tasks},
             {"ops", list_ops},
             {"layers", list_layers},
             {"plots", list_plots},
             {"probes", list_probes}};

int cli_list(int argc, char **argv) {
    enum { LISTS = sizeof lists / sizeof *lists };
    const char *names[LISTS + 1] = {NULL};
    int first = 0;
    bool done;
    int code = cli_read(argc, argv, &(cli_option)CLI_END, NULL, &first, &done);
    if (code != CLI_OK || done) return code;
    if (argc - first != 1)
        return cli_error(CLI_USAGE, "list", "one of tasks, ops, layers, plots, probes is needed");
    for (int i = 0; i < LISTS; i++) {
        names[i] = lists[i].name;
        if (strcmp(lists[i].name, argv[first]) == 0) return lists[i].list(), CLI_OK;
    }
    return cli_unknown("list", "there is no list of", argv[first], names,
                       "tasks, ops, layers, plots, probes");
}
