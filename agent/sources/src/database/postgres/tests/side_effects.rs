//! Functions that do more than return a value.

use super::*;

#[tokio::test]
async fn nothing_is_left_of_what_functions_do() {
    let shop = Shop::create().await;
    let admin = shop.admin().await;
    let setup = "CREATE SEQUENCE numbers; GRANT ALL ON SEQUENCE numbers TO narrow;
        CREATE FUNCTION add() RETURNS int LANGUAGE sql SECURITY DEFINER
            AS 'INSERT INTO orders VALUES (9, ''x'') RETURNING id'";
    admin.batch_execute(setup).await.unwrap();
    let database = shop.source("narrow", LISTED);
    for sql in [
        "SELECT nextval('numbers')",
        "SELECT setval('numbers', 100)",
        "SELECT add()",
        "SELECT query_to_xml('SELECT nextval(''numbers'')', true, false, '')",
    ] {
        let error = query_error(&database, sql).await;
        assert!(error.contains("only one SELECT is possible"), "{error}");
    }
    // These are possible, and end with the transaction or the session.
    for sql in [
        "SELECT pg_notify('news', 'x')",
        "SELECT pg_advisory_lock(7)",
        "SELECT set_config('work_mem', '64kB', false)",
    ] {
        query(&database, sql).await;
    }
    session::wait_until_gone(&admin, "narrow").await;
    let sql = "SELECT pg_try_advisory_lock(7), last_value, is_called FROM numbers";
    let row = admin.query_one(sql, &[]).await.unwrap();
    let values: (bool, i64, bool) = (row.get(0), row.get(1), row.get(2));
    assert_eq!(values, (true, 1, false));
    assert_eq!(
        rows(&database, "SELECT max(id) FROM orders").await,
        json!([[2]])
    );
}

#[tokio::test]
async fn other_servers_cannot_be_reached_without_a_right() {
    let shop = Shop::create().await;
    let admin = shop.admin().await;
    admin
        .batch_execute("CREATE EXTENSION dblink")
        .await
        .unwrap();
    roles::revoke_wal_functions(&admin).await;
    let database = shop.source("narrow", LISTED);
    // It needs a password, which no statement can read.
    let sql = "SELECT * FROM dblink('dbname=postgres', 'SELECT 1') AS t (a int)";
    let error = query_error(&database, sql).await;
    assert!(error.contains("SQLSTATE"), "{error}");
    let warnings = roles::warnings(&database).await;
    assert!(warnings[0].contains("`dblink`"), "{warnings:?}");
    let revoke = "REVOKE EXECUTE ON ALL FUNCTIONS IN SCHEMA public FROM PUBLIC";
    admin.batch_execute(revoke).await.unwrap();
    let error = query_error(&database, sql).await;
    assert!(error.contains("SQLSTATE 42501"), "{error}");
    assert_eq!(roles::warnings(&database).await, [] as [&str; 0]);
}

#[tokio::test]
async fn a_function_of_the_database_cannot_hide_what_was_read() {
    let shop = Shop::create().await;
    let admin = shop.admin().await;
    let setup = "CREATE SCHEMA evil;
        CREATE FUNCTION evil.never(text, text) RETURNS bool LANGUAGE sql AS 'SELECT false';
        CREATE OPERATOR evil.= (LEFTARG = text, RIGHTARG = text, FUNCTION = evil.never);
        GRANT USAGE ON SCHEMA evil TO wide";
    admin.batch_execute(setup).await.unwrap();
    let sql = "SELECT set_config('search_path', 'evil,public,pg_catalog', false), peek()";
    let error = query_error(&shop.source("wide", LISTED), sql).await;
    assert!(error.contains("no table `public.secret`"), "{error}");
}

#[tokio::test]
async fn notices_of_functions_are_dropped() {
    let shop = Shop::create().await;
    let admin = shop.admin().await;
    let setup = "CREATE FUNCTION shout() RETURNS int LANGUAGE plpgsql
        AS 'BEGIN FOR i IN 1..1000 LOOP RAISE NOTICE ''hunter2''; END LOOP; RETURN 1; END'";
    admin.batch_execute(setup).await.unwrap();
    let database = shop.source("narrow", LISTED);
    assert_eq!(rows(&database, "SELECT shout()").await, json!([[1]]));
}
