// Copyright The rke-lm Authors
// SPDX-License-Identifier: Apache-2.0

// Package architecture holds the module's one structural rule, as tests over imports:
// transform decides and does no I/O, internal does I/O and decides nothing, and cmd wires the two.
//
// So imports point one way, from cmd to internal to transform. The formats (rke2, rke1, manifest)
// do not know each other and only cmd names them, and yamledit imports none of them. Of rke2,
// effective says what machines get, and knows neither Rancher's object nor the stages.
package architecture
