// Package controller assembles the process: informers, queues, workers, leader election, metrics and probes around the
// engine. Each controller is a queue.Line. Which items an event enqueues follows from what their last runs have read, not
// from a list of watches.
//
//	event ──▶ Triggers: items of the object, items that read it ──▶ queue with priorities ──▶ worker ──▶ engine
//	                              ▲                                                     │
//	                              └──────────── the objects that the run has read ──────┘
package controller
