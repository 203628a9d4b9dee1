import { sql } from 'kysely'
import type { Database } from '../src/db/database.ts'

/** Adds rows of machines at rest, copies of a machine. The engine has none of them. */
export async function copyMachine(
  db: Database,
  { id, copies, name }: { readonly id: string; readonly copies: number; readonly name: string },
): Promise<void> {
  await sql`
    insert into machines
    select (jsonb_populate_record(m, jsonb_build_object(
      'id', 'mch_' || lpad(n::text, 26, '0'), 'name', ${name}::text || '-' || n,
      'uid_slot', 100000 + n, 'state', 'stopped', 'claimed_by', null, 'claimed_until', null
    ))).*
    from machines m, generate_series(1, ${copies}::int) n where m.id = ${id}
  `.execute(db)
}
