#include "cli/cli.h"

static const char help_text[] =
    "assay score: score a finished run again\n"
    "\n"
    "usage: assay score RUN [--set SET]... [--allow-errors N] [--json]\n"
    "\n"
    "Judges every trial of the run again from its trace, without running anything, and writes its\n"
    "results.jsonl anew: after a change of what the golden set expects.\n"
    "\n"
    "  --set SET           judge by this golden set instead of that which the run names\n"
    "  --allow-errors N    as for assay eval\n"
    "  --json              as for assay eval\n"
    "\n"
    "exit status: as for assay eval\n"
    "\n"
    "example\n"
    "  assay score runs/today --set goldens/quickstart.yaml\n";

const struct verb verb_score = {"score", "score a finished run again", {help_text}, score_run};
