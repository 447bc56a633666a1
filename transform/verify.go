// Copyright The rke-lm Authors
// SPDX-License-Identifier: Apache-2.0

package transform

// Verification is the last stage of every distro: checks alone. lease is the name
// of the migration lease, "" for the usual one.
func Verification(lease string) Stage {
	return Stage{
		Name:    VerifyProviderIDs,
		Why:     "A provider ID that is there proves little, because in-tree kubelets wrote it and it never changes; names that stayed and no taint left prove that the nodes are the same ones.",
		Actions: []Action{ProviderIDs{}, LeaseHolder{Why: "the migration lease has the holder of cloud-controller-manager, or is not renewed any more when leader migration is off", Lease: lease}},
	}
}
