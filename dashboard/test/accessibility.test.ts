import assert from 'node:assert/strict'
import { readFileSync } from 'node:fs'
import { createRequire } from 'node:module'
import { after, test } from 'node:test'
import type { AxeResults } from 'axe-core'
import type { Page } from 'playwright-core'
import { closeBrowser, openPage, startDashboard } from './harness.ts'
import { settle, signedInPages, signedOutPages } from './pages.ts'
import { addSampleData } from './sample.ts'

after(closeBrowser)

const axe = readFileSync(createRequire(import.meta.url).resolve('axe-core/axe.min.js'), 'utf8')

for (const theme of ['light', 'dark'] as const) {
  test(`every page is accessible and keeps the security policy, ${theme}`, async (t) => {
    const dashboard = await startDashboard(t)
    const { research } = await addSampleData(dashboard.owner)
    const found: object[] = []
    const page = await openPage(t, dashboard, '/login', { theme })
    for (const { path, shows } of signedInPages(research.id)) {
      await page.goto(dashboard.url + path)
      await settle(page, shows)
      found.push(...(await violationsOf(page, path)))
    }
    const signedOut = await openPage(t, dashboard, '/login', { theme, as: null })
    for (const { path, shows } of signedOutPages) {
      await signedOut.goto('about:blank')
      await signedOut.goto(dashboard.url + path)
      await settle(signedOut, shows)
      found.push(...(await violationsOf(signedOut, path)))
    }
    assert.deepEqual(found, [])
  })
}

test('no page scrolls sideways on a phone, and all of it can be reached by touch', async (t) => {
  const dashboard = await startDashboard(t)
  const { research } = await addSampleData(dashboard.owner)
  const page = await openPage(t, dashboard, '/', { phone: true })
  for (const { path, shows } of signedInPages(research.id)) {
    await page.goto(dashboard.url + path)
    await settle(page, shows)
    const tooWide = await page.evaluate(() => {
      const content = document.getElementById('content') ?? document.body
      return Math.max(
        content.scrollWidth - content.clientWidth,
        document.body.scrollWidth - innerWidth,
      )
    })
    assert.ok(tooWide <= 0, `${path} is ${tooWide} pixels too wide`)
  }
  await page.goto(dashboard.url)
  await page.getByRole('button', { name: 'Menu' }).tap()
  await page.getByRole('link', { name: 'Members' }).tap()
  await page.waitForURL(/\/members$/)
})

/** In the page as it is served: the policy is not bypassed. */
async function violationsOf(page: Page, path: string) {
  await page.evaluate(axe)
  const { violations } = await page.evaluate<AxeResults>('axe.run()')
  return violations.map(({ id, nodes }) => ({
    path,
    id,
    where: nodes.map(({ html, failureSummary }) => `${html.slice(0, 200)} ${failureSummary}`),
  }))
}
