/* Calls that want a decision. */
#ifndef CLI_APPROVE_H
#define CLI_APPROVE_H

#include "evals/rig.h"

/* Decides by a file of decisions, else by asking on the terminal, else denies. */
struct approver;

/* decisions: the file that --decisions names, or NULL. ERR_INPUT with the place, ERR_NOT_FOUND,
 * ERR_IO. Owned by the caller; loop must outlive it. */
int approver_new(struct loop *loop, const char *decisions, struct approver **out,
                 struct err *e) MUST_CHECK;
void approver_free(struct approver *a); /* NULL allowed */

/* Warns of lines of the file that cannot hold: there is no such tool, or its tier (by enum
 * tool_tier) is decided about otherwise, unasked. */
void approver_check(const struct approver *a, const struct toolset *tools,
                    const enum tier_policy *tiers);

/* What the file of decisions says about a call: false where no line of it fits. */
bool approver_decides(const struct approver *a, struct str name, struct str arguments,
                      enum decision *decision);

/* What rig_options.ask is told; answers with rig_approve, now or later. */
void approver_ask(struct approver *a, struct rig *rig, struct str call_id, struct str name,
                  struct str arguments);

/* The run is over: what is being asked wants no answer any more. */
void approver_end(struct approver *a);
#endif
