// Package controller assembles the process: informers, queues, workers, leader election, metrics and probes around the
// engine. Each controller has a work queue (package queue). An event enqueues the items that the object belongs to, and the
// items whose last run has read the object. There is no list of watches for each kind of item.
//
//	event ──▶ Triggers: items of the object, items that read it ──▶ queue with priorities ──▶ worker ──▶ engine
//	                              ▲                                                     │
//	                              └──────────── the objects that the run has read ──────┘
package controller
