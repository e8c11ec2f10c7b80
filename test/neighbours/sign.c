/* sign METHOD KEY PAYLOAD DATE REGION SERVICE ACCESS SECRET NAME VALUE... -- NAME VALUE...: prints the Authorization
 * header that common/sigv4 makes, for headers before the dashes and parameters behind them; see signatures.py. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "common/buf.h"
#include "common/sigv4.h"

enum { PAIRS = 32 };

int main(int argc, char **argv)
{
	struct sigv4_pair headers[PAIRS], parameters[PAIRS];
	struct sigv4_request r = { .headers = headers };
	struct buf path = BUF_INIT(65536);
	size_t n = 0, m = 0;
	int i = 9;
	char *query, *line;

	if (argc < 10)
		return 2;
	for (; i + 1 < argc && strcmp(argv[i], "--") != 0 && n < PAIRS; i += 2)
		headers[n++] = (struct sigv4_pair){ argv[i], argv[i + 1] };
	for (i++; i + 1 < argc && m < PAIRS; i += 2)
		parameters[m++] = (struct sigv4_pair){ argv[i], argv[i + 1] };
	sigv4_path(argv[2], &path);
	query = sigv4_query(parameters, m);
	r.method = argv[1];
	r.path = buf_str(&path);
	r.query = query;
	r.n_headers = n;
	r.payload = argv[3];
	r.date = argv[4];
	r.region = argv[5];
	r.service = argv[6];
	line = sigv4_authorization(&r, argv[7], argv[8]);
	printf("%s\n%s\n%s\n", line, r.path, r.query);
	free(line);
	free(query);
	buf_done(&path);
	return 0;
}
