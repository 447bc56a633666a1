// Copyright The rke-lm Authors
// SPDX-License-Identifier: Apache-2.0

// Package ownership reports which manager runs the cloud controllers that a leader
// migration hands over.
//
// Invariant: a manager owns a controller if it is the live leader of its main
// lease and runs it outside of the migration lease, or if it is the live holder
// of the migration lease and really runs cloud loops. The holder in a record
// alone proves nothing: the dead leave theirs in the record, and an identity ends with the
// container of its process. Where an argument, a
// configuration or a lease could not be read the answer is unknown, never none.
package ownership
