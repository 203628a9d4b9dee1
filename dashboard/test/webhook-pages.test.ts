import assert from 'node:assert/strict'
import { after, test } from 'node:test'
import type { Page } from 'playwright-core'
import { eventually } from '../../server/test/settled.ts'
import { violationsOf } from './axe.ts'
import { closeBrowser, openPage, startDashboard } from './harness.ts'
import { tooWide } from './hostile-answers.ts'
import { untilRead } from './pages.ts'
import { startStatusReceiver } from './webhook-receiver.ts'

/* The pages of webhooks in all their states, with long and hostile texts: for axe, and for a phone. */

after(closeBrowser)
const dashboard = await startDashboard({ after })
const hostile = '\u202EYou won <b>a prize</b>'
const paths = await Promise.all([subscribe(500), subscribe(410), subscribe(200)])

for (const theme of ['light', 'dark'] as const) {
  test(`axe finds nothing in the ${theme} theme, and no phone scrolls sideways`, async (t) => {
    const desk = await openPage(t, dashboard, '/favicon.svg', { theme })
    const phone = await openPage(t, dashboard, '/favicon.svg', { theme, phone: true })
    for (const page of [desk, phone]) {
      const check = async (what: string) => {
        const width = await tooWide(page)
        assert.ok(width <= 0, `${what} is ${width} pixels too wide`)
        if (page === desk) assert.deepEqual(await violationsOf(page, what), [])
      }
      for (const path of ['/webhooks', ...paths]) {
        await show(page, path)
        await check(path)
      }
      await page.getByRole('button', { name: 'Replay since…' }).click()
      await page.getByRole('dialog', { name: 'Replay messages' }).waitFor()
      await check('the dialog for a replay')
      await show(page, '/webhooks')
      await page.getByRole('button', { name: 'Create a webhook' }).click()
      await page.getByRole('radio', { name: 'Only some types' }).check()
      await check('the dialog for a new webhook')
      await page.keyboard.press('Escape')
      const asks = ['Edit', 'Rotate the secret', 'Delete']
      for (const action of asks) {
        await page
          .getByRole('button', { name: /^Actions of/ })
          .first()
          .click()
        await page.getByRole('menuitem', { name: action }).click()
        const dialog = page.getByRole('dialog', { name: /the webhook to/ })
        await dialog.waitFor()
        await check(`the dialog of ${action}`)
        if (action === 'Rotate the secret') {
          await dialog.getByRole('button', { name: 'Rotate' }).click()
          await dialog.getByText('Verify messages with it').waitFor()
          await check('the dialog with a secret')
          await dialog.getByRole('button', { name: 'Done' }).click()
        } else await page.keyboard.press('Escape')
        await dialog.waitFor({ state: 'detached' })
      }
    }
  })
}

/** A webhook whose receiver has answered once with the status. Resolves to the address of its page. */
async function subscribe(status: number): Promise<string> {
  const { call } = dashboard.owner
  const receiver = await startStatusReceiver({ after })
  receiver.status = status
  const url = `${receiver.url}/${'long'.repeat(60)}`
  const { body } = await call('POST', '/v1/webhooks', { url, types: [hostile, 'long'.repeat(16)] })
  await call('POST', `/v1/webhooks/${body.id}/test`)
  await eventually(async () => {
    const { body: page } = await call('GET', `/v1/webhooks/${body.id}/deliveries`)
    return page.data[0].last_status === status || undefined
  })
  return `/webhooks/${body.id}`
}

async function show(page: Page, path: string): Promise<void> {
  await page.goto(dashboard.url + path)
  await page.getByRole('row').nth(1).waitFor()
  await untilRead(page)
}
