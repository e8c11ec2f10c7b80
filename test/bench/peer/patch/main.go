// patch applies JSON patches with the module that the API server itself uses. Each line of its input is an object with
// `document` and `patch`; each line of its output is the patched document, or an error as {"error": "..."}.
package main

import (
	"bufio"
	"encoding/json"
	"log"
	"os"

	jsonpatch "gopkg.in/evanphx/json-patch.v4"
)

func apply(line []byte) ([]byte, error) {
	var in struct{ Document, Patch json.RawMessage }
	if err := json.Unmarshal(line, &in); err != nil {
		return nil, err
	}
	if len(in.Patch) == 0 {
		return in.Document, nil
	}
	p, err := jsonpatch.DecodePatch(in.Patch)
	if err != nil {
		return nil, err
	}
	return p.Apply(in.Document)
}

func main() {
	in := bufio.NewScanner(os.Stdin)
	in.Buffer(nil, 16<<20)
	for in.Scan() {
		out, err := apply(in.Bytes())
		if err != nil {
			out, _ = json.Marshal(map[string]string{"error": err.Error()})
		}
		os.Stdout.Write(append(out, '\n'))
	}
	if err := in.Err(); err != nil {
		log.Fatal(err)
	}
}
