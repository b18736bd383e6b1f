/* part.h - "--part I/N": a machine's share of trainings. */
#ifndef QKV_CLI_PART_H
#define QKV_CLI_PART_H

/* An exit code, and a message. */
int cli_part(const char *command, const char *text, long *part, long *parts);

#endif
