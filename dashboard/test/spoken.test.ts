import { machineStates } from '@computer/sdk/tables'
import assert from 'node:assert/strict'
import { after, test } from 'node:test'
import type { Page } from 'playwright-core'
import { changeAnswers } from './answers.ts'
import { closeBrowser, openPage, startDashboard } from './harness.ts'
import { closedEarly, follow, signedInPages, untilRead } from './pages.ts'
import { keepPermissions } from './permissions.ts'
import { addSampleData } from './sample.ts'
import { disabledControls } from './spoken.ts'

/* A control that cannot be used says why, and a failure names its request, on every page. */

after(closeBrowser)
const dashboard = await startDashboard({ after })
const pages = signedInPages(await addSampleData(dashboard.owner))

test('without any permission, every disabled control of every page speaks its reason', async (t) => {
  const page = await openPage(t, dashboard, '/favicon.svg', { expectedErrors: closedEarly })
  await keepPermissions(page, () => false)
  let controls = 0
  for (const { path } of pages) {
    await show(page, path)
    controls += await assertSpoken(page, path)
  }
  assert.ok(controls > 30, `${controls} disabled controls were found`)
})

for (const state of machineStates) {
  test(`of a machine that is ${state}, every disabled control speaks its reason`, async (t) => {
    const page = await openPage(t, dashboard, '/favicon.svg', { expectedErrors: closedEarly })
    await changeAnswers(page, {
      change: (path, answer) => {
        if (answer.status >= 300 || !/^\/v1\/machines(\/mch_\w+)?$/.test(path)) return answer
        const body = answer.json as { data?: object[] }
        const json = body.data
          ? { ...body, data: body.data.map((one) => ({ ...one, state })) }
          : { ...body, state }
        return { ...answer, json }
      },
    })
    const ofMachines = pages.filter(({ path }) => /^\/(\?view|m\/|$)/.test(path))
    let controls = 0
    for (const { path } of ofMachines) {
      await show(page, path)
      controls += await assertSpoken(page, path)
      const menu = page.getByRole('button', { name: /^Actions of research-agent|^More actions/ })
      if ((await menu.count()) === 0) continue
      await menu.first().click()
      await page.getByRole('menu').waitFor()
      controls += await assertSpoken(page, `the menu of ${path}`)
      await page.keyboard.press('Escape')
      await page.getByRole('menu').waitFor({ state: 'detached' })
    }
    assert.ok(controls > 0)
  })
}

test('a page whose reads fail shows the words of the server and the id of the request', async (t) => {
  const page = await openPage(t, dashboard, '/favicon.svg', { expectedErrors: closedEarly })
  const message = 'internal failure; the server log has details under this request id'
  const error = { code: 'internal_error', message, request_id: 'req_0123456789' }
  await changeAnswers(page, {
    replace: (path) => (path === '/v1/auth/me' ? undefined : { status: 500, json: { error } }),
  })
  for (const { path } of pages) {
    // Pages that read nothing but the person.
    if (['/?create=true', '/settings', '/no-such-page'].includes(path)) continue
    await follow(page, dashboard.url + path)
    const notice = page.getByRole('alert').filter({ hasText: message }).first()
    await notice.waitFor()
    assert.match((await notice.textContent()) ?? '', /req_0123456789/, path)
    // A part of the page that reads again shows no notice meanwhile.
    await notice.getByRole('button', { name: 'Copy the request id' }).waitFor()
  }
})

async function show(page: Page, path: string): Promise<void> {
  await follow(page, dashboard.url + path)
  await page.locator('h1').first().waitFor()
  await untilRead(page)
}

/** Fails for a disabled control without a reason, or which a keyboard cannot reach. Returns how many there are. */
async function assertSpoken(page: Page, where: string): Promise<number> {
  const controls = await disabledControls(page)
  // The reason of a menu's item stands in the item, so it is spoken with its name.
  const silent = controls.filter(({ role, name, description }) =>
    role === 'menuitem' ? !name.endsWith('.') : description === '',
  )
  assert.deepEqual(silent, [], where)
  const unreachable = await page.evaluate(() =>
    [...document.querySelectorAll<HTMLElement>('[aria-disabled=true], :disabled')]
      .filter((element) => element.checkVisibility())
      .filter((element) => element.matches(':disabled') || element.closest('[inert]'))
      .map(({ outerHTML }) => outerHTML.slice(0, 200)),
  )
  assert.deepEqual(unreachable, [], where)
  return controls.length
}
