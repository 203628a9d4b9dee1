import assert from 'node:assert/strict'
import { after, test } from 'node:test'
import { soakSize } from '../../scripts/soak/sizes.ts'
import { appendEvent } from '../../server/src/domain/events/events.ts'
import { copyMachine } from '../../server/test/fleet.ts'
import { closeBrowser, openPage, startDashboard, type Dashboard } from './harness.ts'

after(closeBrowser)

const { machines: fleet } = soakSize('fleet')

test(`of ${fleet} machines with 100 events a second no row is doubled, and every change shows at once`, async (t) => {
  const stopping = new AbortController()
  let sending = Promise.resolve()
  t.after(() => {
    stopping.abort()
    return sending
  })
  const dashboard = await startDashboard(t)
  const ids = await addFleet(dashboard)
  const page = await openPage(t, dashboard, '/?view=list')
  await page.locator('[data-row]').first().waitFor()

  sending = sendEvents(dashboard, ids, stopping.signal)
  const shown = () =>
    page.evaluate(() =>
      [...document.querySelectorAll<HTMLElement>('[data-row]')].map((row) => row.dataset['row']!),
    )
  const count = () =>
    page.evaluate(() => Number(document.querySelector('table')!.getAttribute('aria-rowcount')) - 1)
  const seen = new Set<string>()
  while ((await count()) < fleet) {
    const before = await count()
    await page.evaluate(() => {
      const content = document.getElementById('content')!
      content.scrollTop = content.scrollHeight
    })
    await page.waitForFunction(
      (rows) => Number(document.querySelector('table')!.getAttribute('aria-rowcount')) - 1 > rows,
      before,
    )
    const rows = await shown()
    assert.equal(new Set(rows).size, rows.length, 'a row is doubled')
    for (const row of rows) seen.add(row)
  }
  assert.equal(await count(), fleet)
  // Only what can be seen is in the page.
  assert.ok((await shown()).length < 100)

  // The answer is held back: what the page shows meanwhile does not wait for it.
  let release = () => {}
  const held = new Promise<void>((resolve) => (release = resolve))
  await page.route('**/v1/machines?**', async (route) => {
    await held
    await route.continue()
  })
  await page.keyboard.press('/')
  await page.keyboard.type('fleet-77')
  await page.locator('[aria-busy=true]').waitFor()
  assert.equal(await page.getByRole('searchbox').inputValue(), 'fleet-77')
  release()
  // The letters that were typed first may be asked for by themselves.
  await page.waitForFunction(() => {
    const rows = [...document.querySelectorAll('[data-row]')]
    return rows.length > 0 && rows.every(({ textContent: name }) => name.startsWith('fleet-77'))
  })
})

/** Rows alone: the engine has none of them, and the worker leaves machines at rest alone. */
async function addFleet({ server, owner }: Dashboard): Promise<string[]> {
  const { body } = await owner.call('POST', '/v1/machines', { name: 'fleet-0', start: false })
  await copyMachine(server.app.db, { id: body.id, copies: fleet - 1, name: 'fleet' })
  const rows = await server.app.db.selectFrom('machines').select('id').execute()
  return rows.map(({ id }) => id)
}

async function sendEvents({ server }: Dashboard, ids: readonly string[], signal: AbortSignal) {
  for (let turn = 0; !signal.aborted; turn++) {
    await server.app.db.transaction().execute(async (tx) => {
      for (let one = 0; one < 10; one++) {
        const id = ids[(turn * 10 + one * 37) % ids.length]!
        await appendEvent(tx, id as never, { type: 'machine.updated' })
      }
    })
    await new Promise((resolve) => setTimeout(resolve, 100))
  }
}
