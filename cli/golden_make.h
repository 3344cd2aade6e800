/* The parts of `assay golden` that make sets. */
#ifndef CLI_GOLDEN_MAKE_H
#define CLI_GOLDEN_MAKE_H

int golden_verb_promote(int argc, char **argv);
int golden_verb_import(int argc, char **argv);
#endif
