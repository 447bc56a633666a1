terraform {
  required_providers {
    kubernetes = {
      source  = "hashicorp/kubernetes"
      version = ">= 2.20"
    }
  }
}

variable "context" {
  description = "The context of Rancher's own cluster in the kubeconfig."
  type        = string
}

provider "kubernetes" {
  config_path    = "~/.kube/config"
  config_context = var.context
}

resource "kubernetes_manifest" "cluster" {
  for_each = local.clusters
  manifest = each.value

  lifecycle {
    prevent_destroy = true
  }
}
