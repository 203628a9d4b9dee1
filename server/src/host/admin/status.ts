import type { App } from '../../app.ts'
import { readWork, type Work } from '../../domain/figures/work.ts'
import { ago, showHosts } from './hosts.ts'
import type { AdminAnswer } from './request.ts'
import { formatTable } from './table.ts'

/** `computer status`: the hosts of the server with what they have and can take, and the work that waits. */
export async function showStatus({ db }: Pick<App, 'db'>): Promise<AdminAnswer> {
  const hosts = await showHosts({ db })
  const work = await db.transaction().execute(readWork)
  return {
    json: { hosts: hosts.json, work },
    text: `${hosts.text}\n\n${tabulate(work.filter(({ waiting, retrying }) => waiting + retrying > 0))}`,
  }
}

function tabulate(work: readonly Work[]): string {
  if (work.length === 0) return 'No work waits.'
  const head = ['WORK', 'WAITS', 'OLDEST', 'TRIED AGAIN']
  const rows = work.map(({ kind, waiting, oldest_seconds: seconds, retrying }) => [
    kind.replaceAll('_', ' '),
    String(waiting),
    waiting === 0 ? '-' : ago(seconds),
    String(retrying),
  ])
  return formatTable(head, rows)
}
