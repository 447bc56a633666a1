// Copyright The rke-lm Authors
// SPDX-License-Identifier: Apache-2.0

package stages

// VerifyProviderIDs is the last stage: checks alone.
const VerifyProviderIDs = "verify-provider-ids"
