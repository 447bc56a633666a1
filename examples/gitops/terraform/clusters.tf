# The clusters stay YAML files, which rke-lm edits; Terraform decodes them.
locals {
  clusters = {
    for file in fileset("${path.module}/../clusters", "*.yaml") :
    trimsuffix(file, ".yaml") => yamldecode(file("${path.module}/../clusters/${file}"))
  }
}

output "clusters" {
  description = "What Rancher gets."
  value       = local.clusters
}
