/* tasks.h - the options with which tests try a task: its defaults, and a file for those that need one. */
#ifndef TESTS_TASKS_H
#define TESTS_TASKS_H

#include <string.h>

#include "data/data.h"
#include "train/io/io.h"

static const char *const TASK_FILE = "examples/it.txt";

static inline bool task_reads_a_file(const data_task *task) {
    return data_option_find(task->options, "data") != NULL;
}

static inline bool task_configure(const data_task *task, data_spec *spec, char *error,
                                  size_t size) {
    data_options options;
    data_options_reset(task->options, &options);
    if (task_reads_a_file(task))
        strcpy((char *)options.byte + data_option_find(task->options, "data")->offset, TASK_FILE);
    return data_configure_from(task, &options, &qkv_io_data, spec, error, size);
}

#endif
