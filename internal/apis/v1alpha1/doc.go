// Copyright The rke-lm Authors
// SPDX-License-Identifier: Apache-2.0

// Package v1alpha1 holds the API types of the group rke-lm.io: migrations of many clusters,
// and the approvals of their waves and stages.
//
// Invariant: the comment of each field is its description in the CustomResourceDefinition,
// so kubectl explain shows what is written here. No type is one of client-go's: each object
// is decoded by itself, so one that cannot be decoded is alone in its trouble.
package v1alpha1
