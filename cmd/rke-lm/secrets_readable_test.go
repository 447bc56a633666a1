// Copyright The rke-lm Authors
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"path/filepath"
	"strings"
	"testing"

	"github.com/rke-lm/rke-lm/transform/redact"
)

// readable are lines of YAML that name a secret, describe one, or look like one from
// afar. A reviewer needs them.
const readable = `secretName: regcred
cloudCredentialSecretName: cattle-global-data:cc-bbbbb
existingSecret: redis-auth
existingSecretPasswordKey: redis-password
passwordSecretName: db
passwordSecretRef: {name: db, key: password}
valueFrom: {secretKeyRef: {name: db, key: password, optional: true}}
authSecret: {name: registry, namespace: kube-system}
valuesSecrets: [{name: ccm-values, keys: [values.yaml], ignoreUpdates: false}]
imagePullSecrets: [{name: regcred}, {name: mirror}]
secrets: [{name: builder-token-x7k2p}]
secretNamespace: kube-system
secretNames: [one, two]
secretType: Opaque
secretStoreRef: {name: vault, kind: ClusterSecretStore}
secretProvider: aws
secretArn: arn:aws:secretsmanager:eu-west-1:123456789012:secret:prod/app-Ab12Cd
secretMountPath: /var/run/secrets
secretVersion: v3
secretRotation: weekly
tokenType: bearer-token
tokenTTL: 24h
token-ttl: 2m
tokenExpiration: 24h
tokenExpirationSeconds: 3600
tokenAudience: sts.amazonaws.com
tokenAudiences: [sts.amazonaws.com]
tokenIssuer: https://oidc.example.com
tokenFile: /var/run/secrets/tokens/token
tokenPath: /etc/token
tokenUrl: https://login.example.com/oauth2/token
tokenEndpoint: https://login.example.com/oauth2/token
tokenVersion: v2
tokenPolicy: default
tokenFormat: jwt-rs256
tokenReviewer: true
tokenScope: read
passwordPolicy: strong
passwordFile: /run/secrets/password
passwordLength: 32
passwordHint: pets
passwordRules: twelve
passwordExpiry: 90d
passwordKind: generated
keyPath: /etc/ssl/private/server.key
keyFile: /etc/ssl/private/server.key
sshKeyPath: ~/.ssh/id_rsa
ssh_key_path: /root/.ssh/id_ed25519
privateKeyFile: /etc/pki/key.pem
kmsKeyArn: arn:aws:kms:eu-west-1:123456789012:key/0c7d1f6e-53ab-4f0e-9b62-e8d1a74c9f35
kmsKeyId: 0c7d1f6e-53ab-4f0e-9b62-e8d1a74c9f35
topologyKey: topology.kubernetes.io/zone
labelKey: app.kubernetes.io/name
partitionKey: region
cacheKey: v2
key: node-role.kubernetes.io/control-plane
hashAlgorithm: sha256
authMode: RBAC
authType: oauth2
authProvider: github
authentication: {strategy: x509, sans: [api.example.com]}
authorization: {mode: rbac}
authorizationMode: RBAC
credentialsProvider: ecr
credentialsFile: /root/.aws/credentials
credentialName: ci
kubeconfigPath: /etc/rancher/rke2/rke2.yaml
kubeconfig: /etc/rancher/rke2/rke2.yaml
automountServiceAccountToken: false
serviceAccountName: cloud-controller-manager
enableServiceAccountTokenVolumeProjection: true
bypass: none
compass: north
encompass: all
passive: ftp
passthrough: host
compassion: full
tokenizer: wordpiece-small.model/path
keyboard: de
monkey: business
author: platform team
authority: ca.example.com
authenticated: true
description: how the control planes are set up
image: registry.example.com/provider-aws/cloud-controller-manager:v1.26.6@sha256:0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef
imageDigest: sha256:0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef
checksum/config: 0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef
commit: 0123456789abcdef0123456789abcdef01234567
revision: 0123456789abcdef0123456789abcdef01234567
uid: 6d2e91c4-0b7f-4a35-9e18-f3c5a7d0842b
volumeName: pvc-6d2e91c4-0b7f-4a35-9e18-f3c5a7d0842b
instanceId: i-0abc1234def567890
providerID: aws:///eu-west-1a/i-0abc1234def567890
vpcId: vpc-0abc1234def567890
subnets: [subnet-0abc1234def567890, subnet-0abc1234def567891]
securityGroup: sg-0abc1234def567890
ami: ami-0abc1234def567890
volume: vol-0abc1234def567890
roleArn: arn:aws:iam::123456789012:role/rke2-control-plane-NodeInstanceRole-1A2B3C4D5E6F7
iamInstanceProfile: rke2-control-plane
instanceProfile: prod-stack-NodeInstanceProfile-1A2B3C4D5E6F
cidr: 10.42.0.0/16
serviceCidr: 2001:db8:42:1::/112
kubernetesVersion: v1.26.15+rke2r1
rke2: v1.31.4-rc1+rke2r2
chart: https://github.com/kubernetes/cloud-provider-aws/releases/download/helm-chart-aws-cloud-controller-manager-0.0.8/aws-cloud-controller-manager-0.0.8.tgz
repo: https://kubernetes.github.io/cloud-provider-aws
git: git@github.com:example/fleet.git
gitssh: ssh://git@github.com/example/fleet.git
mail: platform@example.com
docs: https://example.com/wiki?page=2&lang=en#Secrets
proxy: http://proxy.example.com:3128
noProxy: 10.0.0.0/8,127.0.0.0/8,.svc,.cluster.local,169.254.169.254
host: ip-10-0-4-23.eu-west-1.compute.internal
loadBalancer: internal-a0b1c2d3e4f5-1234567890.eu-west-1.elb.amazonaws.com
cron: "*/5 * * * *"
memory: 512Mi
cpu: 250m
created: "2023-06-14T08:02:51Z"
user: user-aaaaa
creator: u-b4qkhsnliz
cluster: c-m-abcdefgh
machinePool: nodeconfig-a1b2c3
template: nc-servers-x7k2p
webhook: rancher-webhook
tls-cipher-suites: TLS_ECDHE_RSA_WITH_AES_128_GCM_SHA256,TLS_ECDHE_ECDSA_WITH_AES_256_GCM_SHA384
path: /apis/provisioning.cattle.io/v1/namespaces/fleet-default/clusters/orchard
configMapAndSecretChangeDetectionStrategy: Watch
defaultPodSecurityAdmissionConfigurationTemplateName: rancher-restricted
verbs: [create, get, list, watch]
resources: [secrets, tokenreviews, serviceaccounts/token]
resourceNames: [cloud-provider-extraction-migration]
leader-elect-resource-name: cloud-controller-manager-leader-election
rules: [{apiGroups: [""], resources: [secrets], verbs: [get]}]
tolerations: [{key: node.cloudprovider.kubernetes.io/uninitialized, value: "true", effect: NoSchedule}]
env: [{name: AWS_REGION, value: eu-west-1}, {name: HTTPS_PROXY, value: "http://proxy.example.com:3128"}]
envFrom: [{secretRef: {name: db}}]
volumes: [{name: certs, secret: {secretName: webhook-tls, defaultMode: 420}}]
projected: {sources: [{serviceAccountToken: {path: token, expirationSeconds: 3600}}]}
# the token is in Vault, and the password policy is strict
# secretName: regcred
# see https://docs.example.com/tokens and ask platform@example.com
# tokenTTL: 24h`

// readableArguments are ordinary arguments of Kubernetes' components.
const readableArguments = `authorization-mode=Node,RBAC
authorization-webhook-config-file=/etc/kubernetes/authz.yaml
authorization-webhook-cache-authorized-ttl=5m
authorization-kubeconfig=/etc/kubernetes/kcm.conf
authentication-kubeconfig=/etc/kubernetes/kcm.conf
authentication-token-webhook=true
authentication-token-webhook-cache-ttl=2m
authentication-token-webhook-config-file=/etc/kubernetes/webhook.yaml
authentication-token-webhook-version=v1
anonymous-auth=false
enable-bootstrap-token-auth=true
token-auth-file=/etc/kubernetes/tokens.csv
service-account-key-file=/etc/kubernetes/sa.pub
service-account-signing-key-file=/etc/kubernetes/sa.key
service-account-private-key-file=/etc/kubernetes/sa.key
service-account-issuer=https://oidc.example.com
service-account-max-token-expiration=24h
service-account-extend-token-expiration=true
service-account-lookup=true
legacy-service-account-token-clean-up-period=8760h
concurrent-serviceaccount-token-syncs=5
use-service-account-credentials=true
encryption-provider-config=/etc/kubernetes/encryption.yaml
encryption-provider-config-automatic-reload=true
secrets-encryption-provider=aescbc
kubelet-client-key=/etc/kubernetes/kubelet.key
etcd-keyfile=/etc/kubernetes/etcd.key
tls-private-key-file=/etc/kubernetes/tls.key
tls-cert-file=/etc/kubernetes/tls.crt
client-ca-file=/etc/kubernetes/ca.crt
cloud-provider=external
cloud-config=/etc/kubernetes/cloud.conf
enable-leader-migration=true
feature-gates=CSIMigrationAWS=true,InTreePluginAWSUnregister=false
node-labels=example.com/pool=a,topology.kubernetes.io/zone=eu-west-1a
register-with-taints=node-role.kubernetes.io/control-plane=true:NoSchedule
provider-id=aws:///eu-west-1a/i-0abc1234def567890
profiling=false
v=2
max-pods=110
audit-log-path=/var/log/audit.log
image-credential-provider-config=/etc/kubernetes/ecr.yaml
image-credential-provider-bin-dir=/usr/local/bin
kubeconfig=/etc/kubernetes/kubelet.conf
bootstrap-kubeconfig=/etc/kubernetes/bootstrap.conf
oidc-issuer-url=https://login.example.com
oidc-client-id=kubernetes
oidc-username-claim=email
requestheader-allowed-names=front-proxy-client
tls-cipher-suites=TLS_ECDHE_RSA_WITH_AES_128_GCM_SHA256,TLS_ECDHE_ECDSA_WITH_AES_256_GCM_SHA384
service-cluster-ip-range=10.43.0.0/16
--leader-elect-lease-duration=15s
--token-ttl 2m
--secret-name regcred
--user-agent rke-lm/1.0`

func TestWhatOnlyRefersToASecretStaysReadable(t *testing.T) {
	lines, hidden := strings.Split(readable, "\n"), 0
	for _, a := range strings.Split(readableArguments, "\n") {
		lines = append(lines, "kube-apiserver-arg: ["+quotedArgument(a)+"]", "kube-apiserver-arg:\n  - "+a)
	}
	folder := t.TempDir()
	for _, line := range lines {
		text := "x:\n  " + strings.ReplaceAll(line, "\n", "\n  ") + "\n  y: 1\n"
		doc := parsePlanted(t, filepath.Join(folder, "in.yaml"), text)
		if got := string(redact.Document(doc)); got != text {
			hidden++
			t.Errorf("got\n%s\nwant\n%s", got, text)
		}
	}
	for _, a := range strings.Split(readableArguments, "\n") {
		if got := redact.Value("kube-apiserver-arg", []any{a}).([]any)[0]; got != a {
			t.Errorf("explain shows %v instead of %s", got, a)
		}
		if got := redact.Text(a); got != a {
			t.Errorf("a message shows %v instead of %s", got, a)
		}
	}
	t.Logf("%d lines, %d hidden", len(lines), hidden)
}

func quotedArgument(a string) string { return `"` + a + `"` }
