PRAGMA application_id = 1312969803;
PRAGMA user_version = 1;
CREATE TABLE tokens (
	id       TEXT PRIMARY KEY,
	person   TEXT NOT NULL,
	role     TEXT NOT NULL,
	campaign TEXT NOT NULL,
	created  INTEGER NOT NULL,
	expires  INTEGER,
	hash     BLOB NOT NULL
) STRICT;
INSERT INTO tokens VALUES ('k3m9x2q7ab', 'ada', 'owner', '', 1700000000, NULL, X'd0b626ee070515ca0db5193cf040f25186bc372b6ea856226a8ad8daf3f95fdf');
