/* json.h - how commands print JSON. */
#ifndef QKV_CLI_JSON_H
#define QKV_CLI_JSON_H

#include <jansson.h>

/* One line on stdout, in ASCII without control characters whatever the names in it; then lets go of
 * the object. */
void cli_print_json(json_t *o);

#endif
