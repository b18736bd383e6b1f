/* stop.h - signals that ask for an end: what runs finishes its step, saves, and stops. */
#pragma once

#include <signal.h>

/* The first such signal that came since cli_catch_signals(); 0: none. */
extern volatile sig_atomic_t cli_stop;

/* From now on every signal that ends the process removes the temporary files of this program first
 * (cli_remove_temporaries()), but those that tell of a fault, and those that somebody has ignored. */
void cli_clean_on_signals(void);

/* From now on every signal that would end the process sets cli_stop instead, but those that tell of
 * a fault in the program, and those that somebody has ignored or handles. A second INT, QUIT, TERM or
 * HUP ends it at once; not within half a second, since some senders ask twice. */
void cli_catch_signals(void);

/* They end the process again, as after cli_clean_on_signals(). */
void cli_release_signals(void);
