package sqlite

// The results file is an SQLite database that other programs may read:
//
//	settings   the settings that all runs share, as JSON
//	sets       the data sets that were used, and a hash of their numbers
//	processes  the processes that worked on it: program, machine, and when last seen alive
//	runs       the grid; owner is the process that is working on a run
//	rounds     the results; picked holds rows of the data set, 4 bytes each,
//	           little-endian, in pick order
//	targets    since version 2: the errors of each target, counted from 0, in rounds
//	           with several; those in rounds are of all targets together
//
// A run is done when it has its round number "rounds". NULL means NaN.
// Times are milliseconds since 1970.
const schema = `
CREATE TABLE settings (
	id    INTEGER PRIMARY KEY CHECK (id = 1),
	value TEXT NOT NULL
) STRICT;
CREATE TABLE sets (
	name        TEXT PRIMARY KEY,
	rows        INTEGER NOT NULL,
	features    INTEGER NOT NULL,
	fingerprint TEXT NOT NULL
) STRICT;
CREATE TABLE processes (
	id       INTEGER PRIMARY KEY,
	host     TEXT NOT NULL,
	pid      INTEGER NOT NULL,
	version  TEXT NOT NULL,
	revision TEXT NOT NULL,
	platform TEXT NOT NULL,
	cpu      TEXT NOT NULL,
	simd     TEXT NOT NULL,
	started  INTEGER NOT NULL,
	seen     INTEGER NOT NULL
) STRICT;
CREATE TABLE runs (
	id         INTEGER PRIMARY KEY,
	dataset    TEXT NOT NULL,
	activation TEXT NOT NULL,
	spec       TEXT NOT NULL,
	compat     INTEGER NOT NULL,
	batch      INTEGER NOT NULL,
	rounds     INTEGER NOT NULL,
	split      INTEGER NOT NULL,
	owner      INTEGER REFERENCES processes (id),
	error      TEXT,
	UNIQUE (dataset, activation, spec, compat, batch, rounds, split)
) STRICT;
CREATE TABLE rounds (
	run                 INTEGER NOT NULL REFERENCES runs (id),
	round               INTEGER NOT NULL,
	labels              INTEGER NOT NULL,
	mae                 REAL,
	rmse                REAL,
	maxe                REAL,
	q95                 REAL,
	q99                 REAL,
	training            REAL NOT NULL,
	features            REAL NOT NULL,
	selection           REAL NOT NULL,
	testing             REAL NOT NULL,
	elapsed             REAL NOT NULL,
	effective_dimension REAL,
	fallbacks           INTEGER NOT NULL,
	picked              BLOB NOT NULL,
	warnings            TEXT NOT NULL,
	threads             INTEGER NOT NULL,
	process             INTEGER NOT NULL REFERENCES processes (id),
	finished            INTEGER NOT NULL,
	PRIMARY KEY (run, round)
) STRICT, WITHOUT ROWID;
`

// schema2 is what version 2 adds.
const schema2 = `
CREATE TABLE targets (
	run    INTEGER NOT NULL,
	round  INTEGER NOT NULL,
	target INTEGER NOT NULL,
	name   TEXT NOT NULL,
	mae    REAL,
	rmse   REAL,
	maxe   REAL,
	q95    REAL,
	q99    REAL,
	PRIMARY KEY (run, round, target),
	FOREIGN KEY (run, round) REFERENCES rounds (run, round)
) STRICT, WITHOUT ROWID;
`

// applicationID marks a database as a results file, in the header field meant for that.
const applicationID = 0x4e425253
