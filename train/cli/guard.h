/* guard.h - a plugin is code within this process. If it ends the process, or crashes, a sentence says
 * so and the exit code is that of an error. */
#pragma once

/* Before the plugin called `path` is opened for a command: from here on an end of the process counts as
 * the plugin's. `object` is a file that has to go with its directory, if the plugin ends all while it is
 * opened; NULL: none. */
void cli_guard_opens(const char *command, const char *path, const char *object);

/* After that: it was opened, and `symbol` is of it; NULL: it was not. */
void cli_guard_opened(const void *symbol);

/* The program itself is about to end. */
void cli_guard_ends(void);
