# Reads a CustomResourceDefinition as JSON; writes one JSON string "PATTERN" per constraint of its spec that a refused sample
# must run into: a regular expression for a line `PATH: TEXT` as test.sh prints errors. Status is the controller's alone, and
# is left out.
def quoted: gsub("(?<c>[][.*+?(){}^$|\\\\])"; "\\\(.c)");
def says($path; $text): "^\($path | quoted | gsub("\\\\\\*"; "[^:]*")): \($text)";

def constraints($path):
	(.["x-kubernetes-validations"] // [] | .[]
		| says(if $path == "" then "<nil>" else $path + (.fieldPath // "") end; .message | quoted)),
	(if .minimum then says($path; "\($path | gsub("[][*]"; ".?")) in body should be greater than or equal to \(.minimum)$") else empty end),
	(if .maximum then says($path; ".* in body should be less than or equal to \(.maximum)$|^\($path | quoted): must be of type integer") else empty end),
	(if .minLength then says($path; ".* in body should be at least \(.minLength) chars long") else empty end),
	(if .maxLength and (.["x-kubernetes-int-or-string"] | not) then says($path; "Too long: may not be more than \(.maxLength) bytes") else empty end),
	(if .pattern then says($path; ".* in body should match ") else empty end),
	(if .enum then says($path; "Unsupported value|supported values") else empty end),
	(if .minItems then says($path; ".* in body should have at least \(.minItems) items") else empty end),
	(if .maxItems then says($path; "Too many: [0-9]+: must have at most \(.maxItems) items") else empty end),
	(if .maxProperties then says($path; "Too many: [0-9]+: must have at most \(.maxProperties) items") else empty end),
	((.required // [])[] | says("\($path).\(.)" | ltrimstr("."); "Required value")),
	(if .["x-kubernetes-list-type"] == "set" or .["x-kubernetes-list-type"] == "map" then says($path + "[]"; "Duplicate value") else empty end),
	((.properties // {}) | to_entries[] | select($path != "" or .key == "spec") | .key as $key
		| .value | constraints("\($path).\($key)" | ltrimstr("."))),
	(.items | objects | constraints($path + "[]")),
	(.additionalProperties | objects | constraints($path + ".*"));

.spec.versions[] | .schema.openAPIV3Schema | constraints("")
