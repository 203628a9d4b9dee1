import type { Activity, MachineEvent } from '@computer/contract'
import type { Lifetime } from '../../server/test/harness.ts'
import { openPage, type Dashboard, type PageOptions } from './harness.ts'

export type TimelinePage = Awaited<ReturnType<typeof openTimeline>>

/** The timeline of a machine, with the filter of its address. */
export async function openTimeline(
  t: Lifetime,
  dashboard: Dashboard,
  machineId: string,
  { type, ...options }: PageOptions & { readonly type?: string } = {},
) {
  const path = `/m/${machineId}/events${type === undefined ? '' : `?type=${type}`}`
  const page = await openPage(t, dashboard, path, options)
  const list = page.getByRole('list', { name: 'Timeline, newest first' })
  const rows = list.locator('> li')
  await page.getByRole('combobox', { name: 'Show' }).waitFor()
  return {
    page,
    rows,
    row: (text: string | RegExp) => rows.filter({ hasText: text }),
    older: page.getByRole('button', { name: 'Load older' }),
    beginning: page.getByText('This is the beginning of the log.'),
    /** Each row as its moment and its type, newest first. */
    shown: () =>
      rows.evaluateAll((all) =>
        all.map(
          (row) =>
            `${row.querySelector('time')!.dateTime} ${[...row.querySelectorAll('code')].at(-1)!.textContent}`,
        ),
      ),
    show: async (choice: string | RegExp) => {
      await page.getByRole('combobox', { name: 'Show' }).click()
      await page.getByRole('option', { name: choice }).click()
    },
  }
}

type Entry = MachineEvent | Activity

/** What the API lists, all pages of both logs, newest first. */
export async function listTimeline({ owner }: Pick<Dashboard, 'owner'>, machineId: string) {
  const entries: Entry[] = []
  for (const log of ['events', 'activity']) {
    for (let cursor: string | null = ''; cursor !== null;) {
      const after = cursor && `&cursor=${encodeURIComponent(cursor)}`
      const path = `/v1/machines/${machineId}/${log}?limit=100${after}`
      const { body } = await owner.call('GET', path)
      entries.push(...body.data)
      cursor = body.next_cursor
    }
  }
  const place = ({ occurred_at, id }: Entry) => `${occurred_at} ${id}`
  return entries.toSorted((a, b) => (place(a) < place(b) ? 1 : -1))
}
