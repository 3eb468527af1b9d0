// Package controller wires the process together: informers, queues, workers, leader election,
// metrics and probes around the engine. There is one generic controller; what it is to look at
// again after an event follows from what its last run read, not from a list of watches.
//
//	event ──▶ Triggers: whose object is it, who asked for it ──▶ queue with priorities ──▶ worker ──▶ engine
//	                              ▲                                                     │
//	                              └──────────── the questions of the run ───────────────┘
package controller
