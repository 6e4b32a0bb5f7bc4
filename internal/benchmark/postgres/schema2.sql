-- Runs have no tickets any more, and no jobs in the queue River: the table of runs is the queue. The first
-- run that is queued and has no owner is the next.
ALTER TABLE benchmark_runs DROP COLUMN ticket;
CREATE INDEX benchmark_runs_free ON benchmark_runs (id) WHERE queued AND owner IS NULL;

-- The tables of River stay: other programs may use them.
DO $$
BEGIN
	IF to_regclass('river_job') IS NOT NULL THEN
		DELETE FROM river_job WHERE kind = 'nextbatch_run' AND queue = 'nextbatch';
	END IF;
END $$;
