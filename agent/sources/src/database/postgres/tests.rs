//! A real server, and what a hostile statement tries.

mod attacks;
mod connections;
mod hostile_server;
mod passwords;
mod roles;
mod server;
mod session;
mod side_effects;
mod tables;
mod tls;
mod values;

use std::time::{Duration, Instant};

use agent_tools::UserShares;
use serde_json::{Value, json};

use super::super::Database;
use super::super::request::Slot;
use super::super::tests::{call, open, query, query_error, rows};
use server::Shop;

/// `staff` is a view over the table `secret`, which is not listed; `team()` is a function that reads
/// it with the rights of its owner, `peek()` with those of its caller.
const SCHEMA: &str = "
    CREATE TABLE orders (id int PRIMARY KEY, customer text NOT NULL, total numeric(8, 2), data bytea);
    CREATE TABLE secret (id int PRIMARY KEY, name text, password text);
    CREATE TABLE order_items (order_id int REFERENCES orders, product varchar(20),
        seller int REFERENCES secret);
    CREATE TABLE visits (day date) PARTITION BY RANGE (day);
    CREATE TABLE visits_2026 PARTITION OF visits FOR VALUES FROM ('2026-01-01') TO ('2027-01-01');
    CREATE SCHEMA \"Back Office\";
    CREATE TABLE \"Back Office\".\"Pay Roll\" (amount int);
    CREATE VIEW staff AS SELECT name FROM secret WHERE id < 2;
    CREATE FUNCTION team() RETURNS SETOF text LANGUAGE plpgsql SECURITY DEFINER
        AS 'BEGIN RETURN QUERY SELECT upper(name) FROM secret; END';
    CREATE FUNCTION peek() RETURNS SETOF text LANGUAGE plpgsql
        AS 'BEGIN RETURN QUERY SELECT password FROM secret; END';
    CREATE TYPE mood AS ENUM ('good', 'bad');
    INSERT INTO secret VALUES (1, 'Eve', 'hunter2'), (2, 'Mallory', 'hunter3');
    INSERT INTO orders VALUES (1, 'Ada', 12.5, '\\x00ff'), (2, 'Bob', 3, NULL);
    INSERT INTO order_items VALUES (1, 'tea', 1), (1, 'cup', 1), (2, 'tea', 2);
    INSERT INTO visits VALUES ('2026-05-01');
    INSERT INTO \"Back Office\".\"Pay Roll\" VALUES (7);
    ALTER ROLE admin PASSWORD 'hunter2';
    CREATE ROLE narrow LOGIN PASSWORD 'hunter2';
    CREATE ROLE wide LOGIN PASSWORD 'hunter2';
    CREATE ROLE reader LOGIN PASSWORD 'hunter2';
    GRANT pg_read_server_files TO reader;
    CREATE ROLE boss;
    CREATE ROLE visitor;
    CREATE ROLE nested LOGIN NOINHERIT PASSWORD 'hunter2';
    GRANT boss, visitor TO nested;
    GRANT USAGE ON SCHEMA \"Back Office\" TO narrow, wide;
    GRANT SELECT ON orders, order_items, visits, staff, \"Back Office\".\"Pay Roll\"
        TO narrow, wide, nested;
    GRANT SELECT ON secret TO wide, boss;
    GRANT INSERT, DELETE ON orders TO wide;
";

const LISTED: &str =
    "tables = ['orders', 'order_items', 'visits', 'staff', 'Back Office.Pay Roll']";

/// A slot of a call that may take some time.
async fn slot(time: Duration) -> Slot {
    Slot {
        deadline: Instant::now() + time,
        _permit: UserShares::new(1, 1).acquire("user").await,
    }
}
