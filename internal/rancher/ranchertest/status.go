// Copyright The rke-lm Authors
// SPDX-License-Identifier: Apache-2.0

package ranchertest

import (
	"reflect"
	"strings"
	"time"
)

// SetCondition sets one of the conditions of a status, with a reason if there is one. Rancher says Unknown of what
// is in progress, with the reason Waiting and what it waits for.
func SetCondition(status map[string]any, name, is, message string, why ...string) {
	list, _ := status["conditions"].([]any)
	now := time.Now().UTC().Format(time.RFC3339)
	reason := strings.Join(why, "")
	if is == "Unknown" && message != "" {
		reason = "Waiting"
	}
	for _, item := range list {
		c, _ := item.(map[string]any)
		if c["type"] != name {
			continue
		}
		if c["status"] != is || c["message"] != message {
			c["lastUpdateTime"] = now
		}
		c["status"], c["message"], c["reason"] = is, message, reason
		return
	}
	status["conditions"] = append(list, map[string]any{"type": name, "status": is, "message": message, "reason": reason, "lastUpdateTime": now})
}

// StatusOf returns the status of an object, which it makes where there is none.
func StatusOf(o map[string]any) map[string]any {
	status, _ := o["status"].(map[string]any)
	if status == nil {
		status = map[string]any{}
		o["status"] = status
	}
	return status
}

// Provisioned writes how far an RKEControlPlane of a generation has come. What it waits for is said by
// its conditions; with nothing to wait for, the specification is the applied one.
func Provisioned(controlPlane map[string]any, spec any, generation int64, waiting string) {
	status := StatusOf(controlPlane)
	status["observedGeneration"] = generation
	status["initialized"], status["ready"], status["agentConnected"] = true, true, true
	for _, name := range []string{"Bootstrapped", "Provisioned", "Stable", "SystemUpgradeControllerReady"} {
		SetCondition(status, name, "True", "")
	}
	if waiting == "" {
		status["appliedSpec"] = spec
	}
	SetCondition(status, "Ready", TrueUnless(waiting), waiting)
	if Same(status["appliedSpec"], spec) { // it has been so before
		waiting = ""
	}
	SetCondition(status, "Reconciled", TrueUnless(waiting), waiting)
}

// TrueUnless is the status of a condition.
func TrueUnless(waiting string) string {
	if waiting != "" {
		return "Unknown"
	}
	return "True"
}

// Updating writes what Rancher says of a run of RKE over a cluster.
func Updating(cluster map[string]any, is, message string) {
	status := StatusOf(cluster)
	for _, name := range []string{"Created", "Connected", "Provisioned", "Ready"} {
		SetCondition(status, name, "True", "")
	}
	SetCondition(status, "Updated", is, message)
}

// Updated writes that a run of RKE has applied a specification to machines, which Rancher keeps in it.
func Updated(cluster map[string]any, spec any, machines []any) {
	applied := decoded(encoded(spec))
	applied[engineKey].(map[string]any)["nodes"] = machines
	status := StatusOf(cluster)
	status["appliedSpec"] = applied
	delete(status, "failedSpec")
	Updating(cluster, "True", "")
}

// Same compares as JSON: numbers may have been read in different ways.
func Same(a, b any) bool {
	var x, y any
	into(a, &x)
	into(b, &y)
	return reflect.DeepEqual(x, y)
}
