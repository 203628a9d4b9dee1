import assert from 'node:assert/strict'
import { after, test } from 'node:test'
import { themes, violationsOf } from './axe.ts'
import { closeBrowser, openPage, startDashboard } from './harness.ts'
import { tooWide } from './hostile-answers.ts'
import { closedEarly, follow, settle, signedInPages, signedOutPages } from './pages.ts'
import { addSampleData } from './sample.ts'

after(closeBrowser)

for (const [theme, rules] of themes) {
  test(`every page is accessible and keeps the security policy, ${theme}`, async (t) => {
    const dashboard = await startDashboard(t)
    const sample = await addSampleData(dashboard.owner)
    const found: object[] = []
    const page = await openPage(t, dashboard, '/favicon.svg', {
      theme,
      expectedErrors: closedEarly,
    })
    for (const { path, shows } of signedInPages(sample)) {
      await follow(page, dashboard.url + path)
      await settle(page, shows)
      found.push(...(await violationsOf(page, path, { rules })))
    }
    const signedOut = await openPage(t, dashboard, '/login', { theme, as: null })
    for (const { path, shows } of signedOutPages) {
      await signedOut.goto('about:blank')
      await signedOut.goto(dashboard.url + path)
      await settle(signedOut, shows)
      found.push(...(await violationsOf(signedOut, path, { rules })))
    }
    assert.deepEqual(found, [])
  })
}

test('no page scrolls sideways on a phone, and all of it can be reached by touch', async (t) => {
  const dashboard = await startDashboard(t)
  const sample = await addSampleData(dashboard.owner)
  const page = await openPage(t, dashboard, '/favicon.svg', {
    phone: true,
    expectedErrors: closedEarly,
  })
  for (const { path, shows } of signedInPages(sample)) {
    await follow(page, dashboard.url + path)
    await settle(page, shows)
    const pixels = await tooWide(page)
    assert.ok(pixels <= 0, `${path} is ${pixels} pixels too wide`)
  }
  await page.goto(dashboard.url)
  await page.getByRole('button', { name: 'Menu' }).tap()
  await page.getByRole('link', { name: 'Members' }).tap()
  await page.waitForURL(/\/members$/)
})
