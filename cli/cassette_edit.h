/* The words of `assay cassette` that write files; each takes the words behind its own and returns
 * the exit status. */
#ifndef CLI_CASSETTE_EDIT_H
#define CLI_CASSETTE_EDIT_H

int cassette_edit_redact(int argc, char **argv);
int cassette_edit_repair(int argc, char **argv);
int cassette_edit_import(int argc, char **argv);
int cassette_edit_prune(int argc, char **argv);

#endif
