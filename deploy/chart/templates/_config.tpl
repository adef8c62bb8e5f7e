{{/* cloud.conf from values. */}}

{{/* One value. Quotes protect what would begin a comment; numbers come as floats. */}}
{{- define "bowline.config.value" -}}
{{- if kindIs "float64" . }}{{ int64 . }}
{{- else if kindIs "bool" . }}{{ . }}
{{- else }}{{ toString . | replace "\\" "\\\\" | replace "\"" "\\\"" | replace "\n" "\\n" | replace "\t" "\\t" | printf "\"%s\"" }}
{{- end }}
{{- end }}

{{/* The lines of a section: a dict of keys. A list is one line for each value. */}}
{{- define "bowline.config.lines" -}}
{{- range $key, $value := . }}
{{- range (kindIs "slice" $value | ternary $value (list $value)) }}
{{ $key }} = {{ include "bowline.config.value" . }}
{{- end }}
{{- end }}
{{- end }}

{{- define "bowline.config" -}}
{{- if .Values.cloudConf }}
{{- .Values.cloudConf }}
{{- else }}
{{- $config := .Values.cloudConfig }}
{{- range list (list "Global" $config.global) (list "Networking" $config.networking) (list "LoadBalancer" $config.loadBalancer) (list "Route" $config.route) (list "Metadata" $config.metadata) (list "BlockStorage" $config.blockStorage) }}
{{- if last . }}
[{{ first . }}]
{{- include "bowline.config.lines" (last .) }}
{{ end }}
{{- end }}
{{- range $name, $class := $config.loadBalancerClass }}
[LoadBalancerClass {{ include "bowline.config.value" $name }}]
{{- include "bowline.config.lines" $class }}
{{ end }}
{{- end }}
{{- end }}

{{/* Whether values say anything of cloud.conf. */}}
{{- define "bowline.config.given" -}}
{{- $config := .Values.cloudConfig }}
{{- if or $config.global $config.networking $config.loadBalancer $config.loadBalancerClass $config.route $config.metadata $config.blockStorage }}true{{ end }}
{{- end }}
