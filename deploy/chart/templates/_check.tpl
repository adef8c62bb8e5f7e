{{/* What the schema cannot say: values that contradict each other, and what to do about it. */}}

{{- define "bowline.check" -}}
{{- $values := .Values }}
{{- if not $values.cluster.name }}
{{- fail "cluster.name is missing: the name of this cluster in the cloud. Load balancers are named by it, and it can never change. If you come from OCCM's chart and never said one, it was \"kubernetes\"." }}
{{- end }}
{{- $given := include "bowline.config.given" . }}
{{- if and $values.cloudConf $given }}
{{- fail "cloudConf and cloudConfig are both there: use one of them. cloudConf is the whole text of cloud.conf." }}
{{- end }}
{{- if and $values.secret.enabled $values.secret.create (not $values.cloudConf) (not $given) }}
{{- fail "no cloud configuration: say cloudConfig.global (or cloudConf), or secret.create=false with the name of a Secret that is there." }}
{{- end }}
{{- if and (or $values.cloudConf $given) (not (and $values.secret.enabled $values.secret.create)) }}
{{- fail "cloudConfig or cloudConf is there, but no Secret is made of it: secret.enabled and secret.create say so. Remove one or the other." }}
{{- end }}
{{- if and (eq $values.mode "Shadow") (eq $values.kind "DaemonSet") }}
{{- fail "mode Shadow is one pod: use kind Deployment." }}
{{- end }}
{{- if and (eq $values.mode "Shadow") $values.hostNetwork (eq (int $values.securePort) 10258) }}
{{- fail "mode Shadow with hostNetwork: the other manager has port 10258 on its nodes. Use another securePort, such as 10278." }}
{{- end }}
{{- if and $values.serviceMonitor.enabled $values.podMonitor.enabled }}
{{- fail "serviceMonitor and podMonitor are both enabled: everything would be counted twice. Use one of them." }}
{{- end }}
{{- $own := dict
  "adopt-only" "mode: AdoptOnly"
  "cloud-config" "cloudConfigPath"
  "cloud-provider" "this chart is for openstack"
  "cluster-name" "cluster.name"
  "controllers" "enabledControllers"
  "feature-gates" "featureGates"
  "leader-elect" "it is always on, but for mode Shadow"
  "leader-elect-resource-name" "leaderElection.name"
  "leader-elect-resource-namespace" "leaderElection.namespace"
  "logging-format" "logFormat"
  "paused" "mode: Paused"
  "secure-port" "securePort"
  "shadow" "mode: Shadow"
  "shadow-report" "the chart names it"
  "use-service-account-credentials" "the rights that are made are those of one account"
  "v" "logVerbosityLevel" }}
{{- range include "bowline.extraArguments" . | fromJsonArray }}
{{- if not (regexMatch "^--[a-z0-9]" .) }}
{{- fail (printf "controllerExtraArgs: %q is no flag; wanted --name=value or --name." .) }}
{{- end }}
{{- $flag := . | trimPrefix "--" | splitList "=" | first | replace "_" "-" }}
{{- if hasKey $own $flag }}
{{- fail (printf "controllerExtraArgs: --%s is set by the chart itself; use: %s." $flag (get $own $flag)) }}
{{- end }}
{{- end }}
{{- end }}
