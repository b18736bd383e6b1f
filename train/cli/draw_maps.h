/* draw_maps.h - maps found by a command, as CSV files and one picture of all of them. */
#pragma once

#include "train/io/text.h"

enum { CLI_MAPS = 16 };  // panels of a picture

typedef struct {
    tensor_arena *arena;
    qkv_io_text map[CLI_MAPS];
    int n;
} cli_maps;

/* Begins a map of which no more than CLI_MAPS are kept, and adds a cell; numbers outside 0..1 are
 * drawn as the nearer of the two. */
void cli_map_begin(cli_maps *m);
void cli_map_cell(cli_maps *m, int row, int col, double x, const char *row_label,
                  const char *col_label, const char *title);

/* DIR/probe/example-K.csv and DIR/plots/example.png; says where. An exit code. */
int cli_maps_draw(const cli_maps *m, const char *command, const char *dir, bool quiet);
