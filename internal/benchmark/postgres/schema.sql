-- The settings that all runs share, as JSON.
CREATE TABLE benchmark_settings (
	id    integer PRIMARY KEY CHECK (id = 1),
	value text NOT NULL
);

-- The data sets that were used, and a hash of their numbers.
CREATE TABLE benchmark_sets (
	name        text PRIMARY KEY,
	rows        bigint NOT NULL,
	features    bigint NOT NULL,
	fingerprint text NOT NULL
);

-- The processes that worked on the runs. One is alive while it holds the advisory lock of its
-- id, which ends with its connection.
CREATE TABLE benchmark_processes (
	id       integer GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
	host     text NOT NULL,
	pid      bigint NOT NULL,
	version  text NOT NULL,
	revision text NOT NULL,
	platform text NOT NULL,
	cpu      text NOT NULL,
	simd     text NOT NULL,
	started  timestamptz NOT NULL DEFAULT now()
);

-- The grid. The owner is working on a run. A run that is queued has a job in River's queue
-- with the number of its ticket; jobs with an earlier number count no more.
CREATE TABLE benchmark_runs (
	id         bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
	dataset    text NOT NULL,
	activation text NOT NULL,
	spec       text NOT NULL,
	compat     boolean NOT NULL,
	batch      bigint NOT NULL,
	rounds     bigint NOT NULL,
	split      bigint NOT NULL,
	owner      integer REFERENCES benchmark_processes (id),
	failure    text,
	ticket     bigint NOT NULL DEFAULT 0,
	queued     boolean NOT NULL DEFAULT false,
	UNIQUE (dataset, activation, spec, compat, batch, rounds, split)
);

CREATE INDEX benchmark_runs_queued ON benchmark_runs (dataset) WHERE queued;
CREATE INDEX benchmark_runs_owner ON benchmark_runs (owner) WHERE owner IS NOT NULL;

-- The results. Picked holds rows of the data set, in pick order. A round with several targets
-- names them, and has mae, rmse, maxe, q95 and q99 of each in target_errors; those in the columns
-- are of all targets together. A run is finished when it has its round number "rounds".
CREATE TABLE benchmark_rounds (
	run                 bigint NOT NULL REFERENCES benchmark_runs (id),
	round               bigint NOT NULL,
	labels              bigint NOT NULL,
	mae                 double precision NOT NULL,
	rmse                double precision NOT NULL,
	maxe                double precision NOT NULL,
	q95                 double precision NOT NULL,
	q99                 double precision NOT NULL,
	targets             text[] NOT NULL,
	target_errors       double precision[] NOT NULL,
	training            double precision NOT NULL,
	features            double precision NOT NULL,
	selection           double precision NOT NULL,
	testing             double precision NOT NULL,
	elapsed             double precision NOT NULL,
	effective_dimension double precision NOT NULL,
	fallbacks           bigint NOT NULL,
	picked              integer[] NOT NULL,
	warnings            text[] NOT NULL,
	threads             bigint NOT NULL,
	process             integer NOT NULL REFERENCES benchmark_processes (id),
	finished            timestamptz NOT NULL DEFAULT now(),
	PRIMARY KEY (run, round)
);
