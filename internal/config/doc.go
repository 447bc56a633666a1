// Copyright The rke-lm Authors
// SPDX-License-Identifier: Apache-2.0

// Package config reads the choices that a file holds in the place of flags.
//
// Invariant: a file is taken as a whole or not at all. A key that is not known, or
// a value of another kind than the flag takes, is an error with its line.
package config
