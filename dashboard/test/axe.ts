import { readFileSync } from 'node:fs'
import { createRequire } from 'node:module'
import type { AxeResults } from 'axe-core'
import type { Page } from 'playwright-core'

const axe = readFileSync(createRequire(import.meta.url).resolve('axe-core/axe.min.js'), 'utf8')

/** Each theme with the rules that a page in it is held to. The dark one differs from the light one in colours alone. */
export const themes = [['light'], ['dark', ['color-contrast', 'link-in-text-block']]] as const

/**
 * The violations of axe's rules by a page as it is served: the policy is not bypassed. Without `rules`, every rule
 * counts that axe has on by default.
 */
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
