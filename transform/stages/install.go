// Copyright The rke-lm Authors
// SPDX-License-Identifier: Apache-2.0

package stages

// InstallCCM is the stage that lets a cloud-controller-manager take part in the migration.
const InstallCCM = "install-ccm"
