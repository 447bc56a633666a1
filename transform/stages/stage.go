// Copyright The rke-lm Authors
// SPDX-License-Identifier: Apache-2.0

package stages

// Names lists all stages in their order. A distro's stages are a subsequence of it.
func Names() []string {
	return []string{
		GrantMigrationLease, EnableLeaderMigration, InstallCCM, CordonControlPlane,
		SwitchToExternal, UncordonControlPlane, DisableLeaderMigration, VerifyProviderIDs,
	}
}

// EditNames lists the stages that edit a document.
func EditNames() []string {
	return []string{GrantMigrationLease, EnableLeaderMigration, InstallCCM, SwitchToExternal, DisableLeaderMigration}
}
