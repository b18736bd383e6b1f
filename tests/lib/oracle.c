/* oracle.c - all definitions. */
#include <string.h>

#include "tests/lib/oracle_internal.h"

const oracle *oracle_at(int i) {
    const oracle *const tables[] = {oracles_elementwise, oracles_moves, oracles_rows,
                                    oracles_attention, oracles_variants};
    for (int t = 0; t < COUNT(tables); t++)
        for (const oracle *o = tables[t]; o->name; o++)
            if (i-- == 0) return o;
    return NULL;
}

const oracle *oracle_of(const char *op) {
    for (int i = 0; oracle_at(i); i++)
        if (strcmp(oracle_at(i)->name, op) == 0) return oracle_at(i);
    return NULL;
}
