import assert from 'node:assert/strict'
import { after, test } from 'node:test'
import type { Page } from 'playwright-core'
import { themes, violationsOf } from './axe.ts'
import { closeBrowser, openPage, startDashboard, type PageOptions } from './harness.ts'
import { follow } from './pages.ts'
import { addMember, pathOf, printLink } from './signing-in.ts'

/* The pages about people and access, in all their states: for axe, for a phone, and with hostile names. */

after(closeBrowser)
const hostile = '\u202EYou won <b>a prize</b>'

for (const [theme, rules] of themes) {
  test(`axe finds nothing in the ${theme} theme, and no phone scrolls sideways`, async (t) => {
    const dashboard = await startDashboard(t)
    const { owner } = dashboard
    await owner.call('POST', '/v1/api-keys', { name: hostile, scopes: ['machines:read'] })
    const member = await addMember(dashboard, { email: 'bob@example.com', name: hostile })
    const invite = async (email: string) =>
      (await owner.call('POST', '/v1/invitations', { email })).body
    const pending = await invite('a-rather-long-address-of-somebody@research.example.com')
    const revoked = await invite('eve@example.com')
    await owner.call('DELETE', `/v1/invitations/${revoked.id}`)

    const signedOut = [
      '/login',
      '/signup',
      '/forgot-password',
      '/reset-password#token=x',
      '/reset-password',
      '/accept-invitation',
      '/accept-invitation#token=x',
      pathOf(revoked.accept_url),
      pathOf(pending.accept_url),
      '/welcome#token=x',
      await printLink(dashboard),
    ]
    const signedIn = ['/members', '/keys', '/audit', '/settings', '/account']
    const replacing = await printLink(dashboard, member.email)
    const dialogs = [
      ['/members', 'Invite'],
      ['/members', 'Remove'],
      ['/keys', 'Create a key'],
      ['/keys', 'Revoke'],
      ['/settings', 'Leave the organization'],
      ['/settings', 'Delete the organization'],
      ['/account', 'Delete your account'],
    ] as const
    const check = async (as: NonNullable<PageOptions['as']> | null, steps: readonly Step[]) => {
      const desk = await openPage(t, dashboard, '/favicon.svg', { theme, as })
      const phone = await openPage(t, dashboard, '/favicon.svg', { theme, as, phone: true })
      for (const [path, opens] of steps) {
        const what = `${path} ${opens ?? ''}`
        await show(desk, dashboard.url + path, opens)
        assert.deepEqual(await violationsOf(desk, what, { rules }), [])
        if (theme === 'dark') continue
        await show(phone, dashboard.url + path, opens)
        assert.ok(await phone.evaluate(() => document.documentElement.scrollWidth <= 390), what)
      }
    }
    await check(
      null,
      signedOut.map((path) => [path]),
    )
    const links = [pathOf(pending.accept_url), replacing]
    await check(owner, [...[...signedIn, ...links].map((path) => [path] as const), ...dialogs])
    await check(
      member,
      signedIn.map((path) => [path]),
    )
  })
}

test('a hostile name does not turn the rest of a sentence around', async (t) => {
  const dashboard = await startDashboard(t)
  await addMember(dashboard, { email: 'bob@example.com', name: hostile })
  const page = await openPage(t, dashboard, '/members')
  await page.getByRole('combobox', { name: /Role of .*a prize/ }).click()
  await page.getByRole('option', { name: /^Admin/ }).click()
  const title = page.getByRole('dialog').getByRole('heading')
  assert.equal(await title.textContent(), `Make \u2068${hostile}\u2069 an admin`)
  assert.equal(await page.locator('b').count(), 0)
})

/** A path, and the name of a button that opens a dialog. */
type Step = readonly [path: string, opens?: string]

async function show(page: Page, url: string, opens?: string): Promise<void> {
  // Another fragment alone would load nothing, and a dialog that is open would stay.
  if (opens !== undefined || url.includes('#')) await page.goto('about:blank')
  await follow(page, url)
  await page.getByRole('heading', { level: 1 }).waitFor()
  await page.waitForFunction(() => !document.querySelector('[aria-label=Loading]'))
  if (opens === undefined) return
  await page.getByRole('button', { name: opens }).first().click()
  await page.getByRole('dialog').waitFor()
}
