import { readFileSync } from 'node:fs'
import { createRequire } from 'node:module'
import type { AxeResults } from 'axe-core'
import type { Page } from 'playwright-core'

const axe = readFileSync(createRequire(import.meta.url).resolve('axe-core/axe.min.js'), 'utf8')

/** Rules about colours, in which alone the themes differ. */
export const colourRules = ['color-contrast', 'link-in-text-block']

/** What is not accessible, in the page as it is served: the policy is not bypassed. Without `rules`, all of them count. */
export async function violationsOf(
  page: Page,
  path: string,
  {
    within = 'html',
    rules,
  }: { readonly within?: string; readonly rules?: readonly string[] | undefined } = {},
) {
  await page.evaluate(axe)
  const options = JSON.stringify({ runOnly: rules })
  const { violations } = await page.evaluate<AxeResults>(`axe.run('${within}', ${options})`)
  return violations.map(({ id, nodes }) => ({
    path,
    id,
    where: nodes.map(({ html, failureSummary }) => `${html.slice(0, 200)} ${failureSummary}`),
  }))
}
