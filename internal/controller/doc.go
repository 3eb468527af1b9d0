// Package controller wires the process together: informers, queues, workers, leader election,
// metrics and probes around the engine. All controllers are a queue.Line. Which items an event
// enqueues follows from what their last runs have read, not from a list of watches.
//
//	event ──▶ Triggers: items of the object, items that read it ──▶ queue with priorities ──▶ worker ──▶ engine
//	                              ▲                                                     │
//	                              └──────────── the objects that the run has read ──────┘
package controller
