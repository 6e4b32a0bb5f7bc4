-- The names of campaigns.
CREATE TABLE campaigns (
	id   bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
	name text NOT NULL UNIQUE
);

-- Their logs. The type json keeps the text as it is, which crc, the CRC-32C of it, relies on.
CREATE TABLE campaign_events (
	campaign bigint NOT NULL REFERENCES campaigns (id),
	seq      bigint NOT NULL,
	body     json NOT NULL,
	crc      bigint NOT NULL,
	PRIMARY KEY (campaign, seq)
);

-- What events name: rows as Parquet, results as JSON; and the last network.
CREATE TABLE campaign_blobs (
	campaign bigint NOT NULL REFERENCES campaigns (id),
	key      text NOT NULL,
	data     bytea NOT NULL,
	crc      bigint NOT NULL,
	PRIMARY KEY (campaign, key)
);

-- Blobs are compressed already.
ALTER TABLE campaign_blobs ALTER COLUMN data SET STORAGE EXTERNAL;
