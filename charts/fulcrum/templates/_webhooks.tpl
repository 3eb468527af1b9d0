{{/* How the API server reaches a path, and what is equal for all webhooks. */}}
{{- define "fulcrum.client" -}}
admissionReviewVersions: [v1]
sideEffects: None
clientConfig:
  {{- with .ca }}
  caBundle: {{ . }}
  {{- end }}
  service:
    name: {{ include "fulcrum.webhookService" .root }}
    namespace: {{ .root.Release.Namespace }}
    path: {{ .path }}
{{- end -}}

{{/* The controller's own objects must be made while no webhook answers. */}}
{{- define "fulcrum.self" -}}
- {key: app.kubernetes.io/name, operator: NotIn, values: [{{ include "fulcrum.name" . }}]}
{{- end -}}

{{/* A selector of all objects but the controller's own, and with what a value adds. */}}
{{- define "fulcrum.notSelf" -}}
matchExpressions:
  {{- include "fulcrum.self" .root | nindent 2 }}
  {{- with (default dict .selector).matchExpressions }}
  {{- toYaml . | nindent 2 }}
  {{- end }}
{{- with (default dict .selector).matchLabels }}
matchLabels:
  {{- toYaml . | nindent 2 }}
{{- end }}
{{- end -}}

{{- define "fulcrum.selector" -}}
{{- $selector := dict -}}
{{- with (default dict .).matchExpressions }}{{ $_ := set $selector "matchExpressions" . }}{{ end -}}
{{- with (default dict .).matchLabels }}{{ $_ := set $selector "matchLabels" . }}{{ end -}}
{{- with $selector }}{{ toYaml . }}{{ end -}}
{{- end -}}

{{- define "fulcrum.notDeleted" -}}
- name: not-being-deleted
  expression: "!has(object.metadata.deletionTimestamp)"
{{- end -}}

{{/* The controller works while no webhook answers. It corrects the user if it runs as another one. */}}
{{- define "fulcrum.notOwn" -}}
- name: not-by-the-controller
  expression: request.userInfo.username != '{{ . }}'
{{- end -}}
