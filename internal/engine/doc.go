// Package engine reconciles stacks, in the same way for every frontend: view, translate, observe, plan, apply, report. It
// checks the fence before each write, catches panics per stack, and decides what follows a failure. It imports no client
// library of AWS or Kubernetes.
//
// Translate runs first without the observed state. If members disagree about a load-balancer-wide setting, or one of them
// cannot be read, the stack is Contested. The engine then observes the stack, and translates it again with the observed
// state. If AWS reports that a resource of the stack does not exist, Observe fails with class Gone. The cached state of the
// stack is then dropped, and Observe is called again.
//
// A worker never waits until AWS shows a change or until targets are healthy. Instead the run ends, and the stack is queued
// for later. A run has these states:
//
//   - Queued: by priority. Events of targets come before edits, and edits before unchanged objects. Within a
//     priority, a stack of a tenant with many open stacks comes later (package controller/queue).
//   - Translate, Observe, Plan: findings never end a run. If an optional read fails, the fact is replaced by a fault
//     (run.go).
//   - Apply: carries out each step separately. Steps that wait, and steps that depend on them, are left for a later run. A
//     refused step is skipped until its back-off is over. The parts that AWS refuses are held, and the plan is made
//     again without them (apply.go, hold.go).
//   - Waiting: until the earliest of these times: 3 to 20 s for targets; 1 minute for a fact that is missing in AWS,
//     and up to 15 minutes after ten reads; the back-off of a refused step; the time at which a postponed call is
//     admitted (conclude.go).
//   - BackOff: the queue delays the stack after a throttled call, a failure of an unknown class, or a run that failed
//     as a whole: 5 ms to 1000 s. Steps that AWS refuses have their own back-off, 5 s to 15 minutes (refusals.go).
//   - Idle: until the next comparison, after eight to nine tenths of the sync period (package resync).
//
// A refused step is held for the rule to which it belongs. A rule is identified by its listener, and by the object and the
// field from which it is translated (model.RuleKey). refusals.go remembers refused steps with their content. The next run
// therefore plans with the held stack and does not repeat the call. Steps that only prepare a refused step, such as an open
// port, are not repeated with each attempt (prepared.go).
//
// Most waits have a deadline (plan.Wait). For targets, this is the time of their health checks and two minutes, at most five
// minutes. Plans do not read the clock: the engine remembers since when a stack waits, and passes the time to the next plan.
// After the deadline the plan continues as if the wait were over, with the finding WaitExpired. The deletion of a member
// waits for the removal of its own resources, and never for the health of other members.
//
// If AWS does not show a change that was made three times, the change is repeated with back-off, 2 to 15 minutes, and
// reported (repeats.go). No resource with the same content is created twice within a minute.
//
// A previous process may have created resources just before it ended, and AWS may not list them yet. Therefore the last
// finalizer of a stack that this process has not created is removed only after reads that list no resource of the stack.
// These reads are made at least 15 s after the first run of this process (restart_settling.go).
package engine
