// Copyright The rke-lm Authors
// SPDX-License-Identifier: Apache-2.0

package rollout

import (
	"slices"

	"github.com/rke-lm/rke-lm/transform"
	"github.com/rke-lm/rke-lm/transform/action"
	"github.com/rke-lm/rke-lm/transform/live/check"
	"github.com/rke-lm/rke-lm/transform/provider/aws"
)

// Home is the namespace of a cluster's object; where that has none, for the one
// named like its ID.
const Home = "<namespace>"

// Own means the name of the cluster's object, and ID that of the object that Rancher manages the cluster by.
const (
	Own = "<name>"
	ID  = "<id>"
)

// Requirement is what some verbs need of one resource.
type Requirement struct {
	For        []string             // verbs of rke-lm
	Kind       transform.ObjectKind // of the clusters; zero for all
	When       string               // needed only then; "" for always
	Downstream bool                 // on the cluster itself
	Namespace  string               // Home, another one, or "" for all
	Least      string               // where the permission is enough to continue; "" for Namespace
	Group      string
	Resource   string
	Name       string // Own, ID, or that of another object; "" for all
	Do         []string
	Optional   bool   // a run continues without it
	Why        string // for the documentation
}

const (
	kubeSystem = "kube-system"
	management = "management.cattle.io"

	controllerSpace = "rke-lm" // the default of --namespace
	ownGroup        = "rke-lm.io"
)

var (
	one     = []string{"plan", "apply", "verify", "leaders", "migrate", "rollback"} // verbs about named clusters
	writing = []string{"apply", "migrate", "rollback"}
	whole   = []string{"migrate", "rollback"}
	forward = []string{"migrate"}
	reading = []string{"verify", "migrate", "rollback"}
	leading = []string{"verify", "leaders", "migrate", "rollback"}
)

// Requirements is the one table of permissions.
func Requirements() []Requirement {
	return slices.Concat(local(), controlling(), downstream())
}

// controlling is for the controller, in addition to what its runs need.
func controlling() []Requirement {
	rows := []Requirement{
		{Group: "provisioning.cattle.io", Resource: "clusters", Do: []string{"list", "watch"}, Why: "the clusters, by their labels"},
		{Group: management, Resource: "clusters", Do: []string{"list"}, Why: "the same for RKE1"},
		{Group: management, Resource: GatePermission.Resource, Name: GatePermission.Name, Do: []string{GatePermission.Verb}, Why: letThrough},
		{Namespace: controllerSpace, Group: ownGroup, Resource: "leadermigrations", Do: []string{"list", "watch"}, Why: "what is to be migrated"},
		{Namespace: controllerSpace, Group: ownGroup, Resource: "leadermigrations/status", Do: []string{"patch"}, Why: "how far it is"},
		{Namespace: controllerSpace, Group: ownGroup, Resource: "leadermigrationapprovals", Do: []string{"list", "watch"}, Why: "what is approved; the controller cannot approve"},
		{Namespace: controllerSpace, Resource: "configmaps", Do: []string{"create", "patch", "delete"}, Why: "the next change of a cluster that another program manages"},
		{Namespace: controllerSpace, Resource: "events", Do: []string{"create"}, Why: "what happened to a cluster, on the LeaderMigration"},
		{Namespace: controllerSpace, Group: "coordination.k8s.io", Resource: "leases", Do: []string{"create"}, Why: "which controller is active"},
		{Namespace: controllerSpace, Group: "coordination.k8s.io", Resource: "leases", Name: "rke-lm-controller", Do: []string{"get", "update"}, Why: "which controller is active"},
		{Group: "authentication.k8s.io", Resource: "tokenreviews", Do: []string{"create"}, Optional: true, Why: "who reads /metrics; without it no one can"},
		{Group: "authorization.k8s.io", Resource: "subjectaccessreviews", Do: []string{"create"}, Optional: true, Why: "whether this user has permission to"},
	}
	for i := range rows {
		rows[i].For = []string{"controller"}
	}
	return rows
}

const letThrough = "Rancher requires it for every request to management.cattle.io"

func local() []Requirement {
	return []Requirement{
		{For: []string{"status"}, Group: "provisioning.cattle.io", Resource: "clusters", Do: []string{"list"}, Why: "the clusters; other verbs need it to find one by its name, its ID or its labels"},
		{For: []string{"status"}, Group: management, Resource: "clusters", Do: []string{"list"}, Why: "the same for RKE1"},
		{For: []string{"status"}, Group: management, Resource: GatePermission.Resource, Name: GatePermission.Name, Do: []string{GatePermission.Verb}, Why: letThrough},
		{For: []string{"status"}, Group: ownGroup, Resource: "leadermigrations", Do: []string{"list"}, Optional: true, Why: "the LeaderMigrations, if the controller is used; without it they are not shown"},
		{For: one, Kind: transform.Management, Group: management, Resource: GatePermission.Resource, Name: GatePermission.Name, Do: []string{GatePermission.Verb}, Why: letThrough},
		{For: one, Kind: transform.Provisioning, Namespace: Home, Group: "provisioning.cattle.io", Resource: "clusters", Name: Own, Do: []string{"get"}, Why: "the cluster's object"},
		{For: one, Kind: transform.Management, Group: management, Resource: "clusters", Name: Own, Do: []string{"get"}, Why: "the cluster's object"},
		{For: leading, Kind: transform.Provisioning, Group: management, Resource: "clusters", Name: ID, Do: []string{"get"}, Why: "Rancher requires it for every request to the cluster itself"},
		{For: writing, Kind: transform.Provisioning, Namespace: Home, Group: "provisioning.cattle.io", Resource: "clusters", Name: Own, Do: []string{"patch"}, Why: "the edits of the stages"},
		{For: writing, Kind: transform.Management, Group: management, Resource: "clusters", Name: Own, Do: []string{"patch"}, Why: "the edits of the stages"},
		{For: writing, Kind: transform.Provisioning, Namespace: Home, Group: "rke.cattle.io", Resource: "rkecontrolplanes", Name: Own, Do: []string{"get"}, Why: "whether a change is applied"},
		{For: writing, Kind: transform.Provisioning, Namespace: Home, Group: "cluster.x-k8s.io", Resource: "clusters", Name: Own, Do: []string{"get"}, Why: "whether the cluster is paused"},
		{For: writing, Kind: transform.Provisioning, Namespace: Home, Group: "cluster.x-k8s.io", Resource: "machines", Do: []string{"list"}, Why: "whether a change is applied"},
		{For: []string{"plan"}, Kind: transform.Provisioning, Namespace: Home, Group: "cluster.x-k8s.io", Resource: "machines", Do: []string{"list"}, Optional: true, Why: "the names of Nodes and machines; without it they are not compared"},
		{For: append([]string{"plan"}, writing...), Kind: transform.Provisioning, Namespace: Home, Group: "rke-machine-config.cattle.io", Resource: aws.MachineConfigs, Do: []string{"get"}, Optional: true, Why: "whether the user data of a pool sets host names; without it that is not known"},
		{For: writing, Kind: transform.Provisioning, Namespace: Home, Resource: "secrets", Do: []string{"get"}, Why: "the plans of machines, whether a change is applied; each by its name; not with `apply --accept cluster-not-settled`"},
		{For: whole, Namespace: Home, Group: "coordination.k8s.io", Resource: "leases", Do: []string{"get", "create", "update", "delete"}, Why: "the lock that prevents two runs at the same time"},
		{For: whole, Kind: transform.Provisioning, Namespace: Home, Resource: "events", Do: []string{"create"}, Why: "the audit log, on the cluster's object"},
		{For: whole, Kind: transform.Management, Namespace: "default", Resource: "events", Do: []string{"create"}, Why: "the audit log, on the cluster's object, which is in no namespace"},
		{For: whole, Kind: transform.Provisioning, When: action.NeedsConfigurations, Namespace: Home, Resource: "configmaps", Do: []string{"create", "patch"}, Why: "only with `--leader-migration-config generate`: the configuration of kube-controller-manager"},
		{For: whole, Kind: transform.Provisioning, When: action.NeedsCloudConfig, Namespace: Home, Resource: "secrets", Do: []string{"get"}, Why: "only if cloud-provider-config refers to a Secret: its value, for the chart"},
		{For: forward, Kind: transform.Provisioning, When: action.NeedsProviderIDs, Namespace: Home, Group: "rke-machine.cattle.io", Resource: aws.Machines, Do: []string{"patch"}, Optional: true, Why: "the provider ID of a machine whose Node registered again; without it the command is shown"},
		{For: forward, Kind: transform.Provisioning, When: action.NeedsProviderIDs, Namespace: Home, Group: "rke.cattle.io", Resource: "custommachines", Do: []string{"patch"}, Optional: true, Why: "the same for machines that were registered by their own command"},
		{For: whole, Kind: transform.Management, Namespace: Home, Group: management, Resource: "etcdbackups", Do: []string{"create", "get"}, Why: "a snapshot before the first write"},
	}
}

func downstream() []Requirement {
	rows := []Requirement{
		{For: reading, Resource: "nodes", Do: []string{"list"}, Why: "names and provider IDs"},
		{For: reading, Resource: "services", Do: []string{"list"}, Why: "load balancers"},
		{For: reading, Resource: "events", Do: []string{"list"}, Optional: true, Why: "why a Service has no load balancer, and whether changes of load balancers fail; only used if there are any, and a run continues without it"},
		{For: reading, Resource: "persistentvolumes", Do: []string{"list"}, Why: "in-tree volumes"},
		{For: reading, Group: "storage.k8s.io", Resource: "storageclasses", Do: []string{"list"}, Why: "in-tree volumes"},
		{For: reading, Group: "storage.k8s.io", Resource: "csinodes", Do: []string{"list"}, Why: "in-tree volumes"},
		{For: reading, Group: "authorization.k8s.io", Resource: "subjectaccessreviews", Do: []string{"create"}, Why: "who has permission on the migration lease"},
		{For: leading, Least: kubeSystem, Resource: "pods", Do: []string{"list"}, Why: "the managers and their arguments, in all namespaces; with a Role in kube-system the others are not checked"},
		{For: leading, Namespace: kubeSystem, Resource: "configmaps", Do: []string{"get"}, Why: "the managers' configurations, and the snapshot"},
		{For: leading, Least: kubeSystem, Group: "apps", Resource: "daemonsets", Do: []string{"list"}, Why: "the cloud-controller-manager"},
		{For: leading, Least: kubeSystem, Group: "apps", Resource: "deployments", Do: []string{"list"}, Why: "the cloud-controller-manager"},
		{For: leading, Namespace: kubeSystem, Group: "coordination.k8s.io", Resource: "leases", Do: []string{"list"}, Why: "which manager runs the cloud controllers"},
		{For: whole, Namespace: kubeSystem, Resource: "configmaps", Do: []string{"create"}, Why: "the snapshot of nodes and load balancers; `verify` needs it with `--snapshot`"},
		{For: whole, When: action.NeedsCordon, Resource: "nodes", Do: []string{"get", "patch"}, Why: "only if the plan cordons control planes: cordon and uncordon"},
		{For: whole, When: action.NeedsProviderIDs, Resource: "nodes", Do: []string{"get", "patch"}, Why: "only for a cluster at Kubernetes 1.27 or later: the taint by which the cloud-controller-manager initializes a Node without a provider ID"},
		{For: forward, When: NeedsRegistration, Resource: "pods", Do: []string{"list"}, Why: "only with --restart-command: the pods of a Node that registers again"},
		{For: forward, When: NeedsRegistration, Resource: "pods/eviction", Do: []string{"create"}, Why: "only with --restart-command: to drain it"},
		{For: forward, When: NeedsRegistration, Resource: "nodes", Do: []string{"delete"}, Why: "only with --restart-command: to delete it"},
		{For: forward, When: NeedsCanaryService, Resource: "namespaces", Do: []string{"create"}, Why: "only with `--canary-service`: the namespace `" + check.CanaryName + "`"},
		{For: forward, When: NeedsCanaryService, Resource: "namespaces", Name: check.CanaryName, Do: []string{"get", "patch", "delete"}, Why: "only with `--canary-service`: the namespace `" + check.CanaryName + "`"},
		{For: forward, When: NeedsCanaryService, Resource: "services", Do: []string{"create"}, Why: "only with `--canary-service`: the Service in that namespace, which does not exist before the run"},
		{For: forward, When: NeedsCanaryService, Resource: "services", Name: check.CanaryName, Do: []string{"get", "patch", "delete"}, Why: "only with `--canary-service`: the Service in that namespace"},
		{For: forward, When: NeedsCanaryService, Resource: "events", Do: []string{"list"}, Why: "only with `--canary-service`: errors of the cloud controllers"},
		{For: whole, When: action.NeedsCloudConfig, Namespace: kubeSystem, Resource: "secrets", Do: []string{"create", "patch"}, Why: "only if the provider has a configuration: the chart mounts it"},
		{For: []string{"rollback"}, Kind: transform.Provisioning, Namespace: kubeSystem, Group: "helm.cattle.io", Resource: "helmcharts", Do: []string{"get"}, Why: "whether what was removed from the manifest is deleted in the cluster"},
		{For: []string{"rollback"}, Namespace: kubeSystem, Group: "apps", Resource: "daemonsets", Do: []string{"get"}, Why: "whether what was removed from the manifest is deleted in the cluster"},
		{For: []string{"rollback"}, Namespace: kubeSystem, Group: rbac, Resource: "roles", Do: []string{"get"}, Why: "whether what was removed from the manifest is deleted in the cluster"},
		{For: []string{"rollback"}, Namespace: kubeSystem, Group: rbac, Resource: "rolebindings", Do: []string{"get"}, Why: "whether what was removed from the manifest is deleted in the cluster"},
		{For: []string{"rollback"}, Kind: transform.Management, Namespace: kubeSystem, Group: rbac, Resource: "roles", Do: []string{"delete"}, Why: "RKE does not delete what was removed from addons"},
		{For: []string{"rollback"}, Kind: transform.Management, Namespace: kubeSystem, Group: rbac, Resource: "rolebindings", Do: []string{"delete"}, Why: "RKE does not delete what was removed from addons"},
	}
	rows = append(rows, ofRancher()...)
	rows = append(rows, helm()...)
	for i := range rows {
		rows[i].Downstream = true
	}
	return rows
}

// ofRancher is for the observation of Rancher's own cluster; without it cluster-not-settled is
// not checked.
func ofRancher() []Requirement {
	verify := []string{"verify"}
	return []Requirement{
		{For: verify, When: NeedsLocal, Group: "rke.cattle.io", Resource: "rkecontrolplanes", Do: []string{"list"}, Why: "whether clusters have settled"},
		{For: verify, When: NeedsLocal, Group: "cluster.x-k8s.io", Resource: "machines", Do: []string{"list"}, Why: "the names of machine plans"},
		{For: verify, When: NeedsLocal, Namespace: "fleet-default", Resource: "secrets", Do: []string{"get"}, Why: "the plans of machines, each by its name; so in each namespace with clusters"},
	}
}

const rbac = "rbac.authorization.k8s.io"

// helm is what it needs for the chart, where RKE makes the cluster. A ClusterRole may
// be made by those alone who hold all that is in it, or may escalate.
func helm() []Requirement {
	own := []string{"get", "create", "patch", "delete"}
	list := []Requirement{
		{When: action.NeedsConfigurations, Namespace: kubeSystem, Resource: "configmaps", Do: []string{"get", "patch", "delete"}, Why: "only with `--leader-migration-config generate`: the configuration of the cloud-controller-manager"},
		{When: action.NeedsHelm, Namespace: kubeSystem, Resource: "secrets", Do: []string{"get", "list", "create", "update", "patch", "delete"}, Why: "only with helm on the PATH, like those below: its records of the release, with its values"},
		{When: action.NeedsHelm, Namespace: kubeSystem, Resource: "serviceaccounts", Do: own, Why: "the chart"},
		{When: action.NeedsHelm, Namespace: kubeSystem, Group: "apps", Resource: "daemonsets", Do: own, Why: "the chart"},
		{When: action.NeedsHelm, Namespace: kubeSystem, Group: rbac, Resource: "rolebindings", Do: own, Why: "the chart"},
		{When: action.NeedsHelm, Namespace: kubeSystem, Group: rbac, Resource: "roles", Do: []string{"bind"}, Why: "the chart binds a role of the cluster"},
		{When: action.NeedsHelm, Group: rbac, Resource: "clusterrolebindings", Do: own, Why: "the chart"},
		{When: action.NeedsHelm, Group: rbac, Resource: "clusterroles", Do: append(own, "escalate", "bind"), Why: "the chart"},
	}
	for i := range list {
		list[i].For, list[i].Kind = whole, transform.Management
	}
	return list
}
