/* The files that `assay init` writes, as bytes: made by embed.cmake when the program is built. */
#ifndef CLI_INIT_INT_H
#define CLI_INIT_INT_H

#include <stddef.h>

extern const unsigned char init_set[];
extern const size_t init_set_size;
extern const unsigned char init_tools[];
extern const size_t init_tools_size;
extern const unsigned char init_script[];
extern const size_t init_script_size;
extern const unsigned char init_job[];
extern const size_t init_job_size;
#endif
