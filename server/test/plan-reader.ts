import { CompiledQuery, sql } from 'kysely'
import type { Database } from '../src/db/database.ts'

/** A node of a plan (Postgres: EXPLAIN with FORMAT JSON). */
type PlanNode = {
  readonly 'Node Type': string
  readonly 'Relation Name'?: string
  readonly 'Index Name'?: string
  readonly 'Index Cond'?: string
  readonly Plans?: readonly PlanNode[]
}

/** Tables whose size does not depend on how much the server is used. */
const bounded = new Set([
  'activity_positions',
  'duties',
  'event_positions',
  'hosts',
  'images',
  'plans',
  // At most a hundred of each host.
  'warm_machines',
  // A few of each host at a time.
  'relocations',
])

/**
 * Statements that read all of a table, although the planner avoids it where an index allows. An index that holds only
 * some rows, those that wait for something, may be read as a whole, and so may what a limit ends early.
 */
export async function findFullScans(
  db: Database,
  statements: ReadonlyMap<string, readonly unknown[]>,
): Promise<readonly string[]> {
  return db.connection().execute(async (connection) => {
    for (const plan of ['seqscan', 'hashjoin', 'mergejoin'])
      await sql`select set_config(${`enable_${plan}`}, 'off', false)`.execute(connection)
    const partial = await readPartialIndexes(connection)
    const found: string[] = []
    for (const [statement, values] of statements) {
      if (!/^\s*(select|with|insert|update|delete)\b/i.test(statement)) continue
      const scans = await explain(connection, statement, values)
      if (typeof scans === 'string') {
        found.push(`${scans}: ${statement}`)
        continue
      }
      for (const node of listScans(scans, false)) {
        const table = node['Relation Name']!
        if (bounded.has(table) || table.startsWith('catalog_')) continue
        if (node['Index Name'] !== undefined && partial.has(node['Index Name'])) continue
        found.push(
          `${node['Node Type']} of ${table}: ${statement.replace(/\s+/g, ' ').slice(0, 400)}`,
        )
      }
    }
    return found
  })
}

async function explain(
  db: Database,
  statement: string,
  values: readonly unknown[],
): Promise<PlanNode | string> {
  try {
    const query = CompiledQuery.raw(`explain (format json) ${statement}`, [...values])
    const { rows } = await db.executeQuery<{ 'QUERY PLAN': readonly { Plan: PlanNode }[] }>(query)
    return rows[0]!['QUERY PLAN'][0]!.Plan
  } catch (error) {
    return (error as Error).message
  }
}

function listScans(node: PlanNode, isLimited: boolean): PlanNode[] {
  const limits = isLimited || node['Node Type'] === 'Limit'
  const inner = node.Plans?.flatMap((plan) => listScans(plan, limits)) ?? []
  const isScan =
    /Seq Scan|Index Scan|Index Only Scan/.test(node['Node Type']) &&
    node['Relation Name'] !== undefined
  const isFull =
    isScan && node['Index Cond'] === undefined && !(limits && node['Index Name'] !== undefined)
  return isFull ? [node, ...inner] : inner
}

async function readPartialIndexes(db: Database): Promise<ReadonlySet<string>> {
  const { rows } = await sql<{ name: string }>`
    select c.relname as name from pg_index i join pg_class c on c.oid = i.indexrelid
    where i.indpred is not null`.execute(db)
  return new Set(rows.map(({ name }) => name))
}
