import pg from 'pg'
import type { Lifetime } from './harness.ts'

/*
 * A database whose clock a test sets. Its `now()`, `clock_timestamp()` and `statement_timestamp()` hide
 * those of Postgres, because their schema comes first in the search path. So the product runs unchanged at
 * any time that the test chooses. Defaults of columns were bound before and keep the real time.
 *
 * The clock is a sequence, which no transaction isolates: every statement sees a change at once, as it
 * would see one of a real clock.
 */

export type SimulatedClock = {
  /** Pass it to `startTestServer` as `prepare`. */
  prepare(databaseUrl: string): Promise<void>
  /** Sets the clock, which then stands still. */
  set(time: Date): Promise<void>
  /** The clocks of two hosts: about every second transaction sees one that is ahead by so much. */
  skew(ms: number): Promise<void>
}

/** The connection of the clock ends before the server that is started with it drops the database. */
export function simulateClock(t: Lifetime, start: Date): SimulatedClock {
  let client: pg.Client | undefined
  t.after(() => client?.end())
  const setSequence = async (name: 'at' | 'ahead', value: number) =>
    void (await client!.query(`select setval('test_clock.${name}', $1)`, [value]))
  const clock: SimulatedClock = {
    async prepare(databaseUrl) {
      client = new pg.Client({ connectionString: databaseUrl })
      await client.connect()
      await client.query(definition)
      await clock.set(start)
      await client.query(`do $$ begin execute format(
        'alter database %I set search_path = test_clock, pg_catalog, public', current_database()
      ); end $$`)
    },
    set: (time) => setSequence('at', time.getTime()),
    skew: (ms) => setSequence('ahead', ms),
  }
  return clock
}

const read = `
  select 'epoch'::timestamptz + interval '1 millisecond' * (
    (select last_value from test_clock.at)
    + case (extract(epoch from pg_catalog.now()) * 1000000)::bigint % 2
      when 0 then 0 else (select last_value from test_clock.ahead) end
  )`

const definition = `
  create schema test_clock;
  create sequence test_clock.at minvalue 0;
  create sequence test_clock.ahead minvalue 0 start 0;
  create function test_clock.clock_timestamp() returns timestamptz volatile language sql as $$${read}$$;
  create function test_clock.now() returns timestamptz stable language sql as $$${read}$$;
  create function test_clock.statement_timestamp() returns timestamptz stable language sql as $$${read}$$;`
