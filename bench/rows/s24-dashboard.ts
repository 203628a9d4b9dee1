import type { Browser } from 'playwright-core'
import { openAs } from '../../e2e/harness/dashboard-page.ts'
import type { Person } from '../../e2e/harness/person.ts'
import { withPerson } from '../dashboard.ts'
import { withMachine } from '../machine.ts'
import { distribution } from '../measure.ts'
import { runRounds } from '../rounds.ts'
import { budgetsKb } from '../../scripts/dashboard-budgets.ts'
import type { Bench } from '../row.ts'

/** Within this time a person who opens the dashboard for the first time sees a machine. */
const limitMs = 1_000
/** A cold load needs the shell and one page. */
const scriptLimitKb = budgetsKb.initial + budgetsKb.page

/**
 * The time from opening the dashboard in a browser that knows nothing of it (no cache, no compiled code) to
 * the frame that shows the first machine; what has moved on the page until then and after; and the
 * scripts that the browser has transferred.
 */
export const bench: Bench = {
  name: 's24-dashboard',
  title: 'cold load of the dashboard',
  run: (context) =>
    withPerson(context, (browser, person) =>
      withMachine(context.api, 's24', async ({ name }) => {
        const loads: Load[] = []
        const url = context.api.baseUrl
        const rounds = await runRounds(
          {
            ours: async () => {
              const load = await loadOnce(browser, person, url)
              loads.push(load)
              for (const moved of load.moved) context.say(`moved: ${moved}`)
              return { ms: load.ms, wrong: load.name.includes(name) ? undefined : load.name }
            },
          },
          context.plan.slow,
          context.say,
        )
        const wrong = rounds.find(({ ours }) => ours.wrong !== undefined)?.ours.wrong
        if (wrong !== undefined) throw new Error(`the first row is not the machine: ${wrong}`)
        const { p50, max } = distribution(
          rounds.map(({ ours }) => ours.ms).filter((ms) => !Number.isNaN(ms)),
        )
        const figure = { kind: 'figure', id: 'S24' } as const
        const scriptKb = Math.max(...loads.map((load) => load.scriptBytes)) / 1024
        return [
          {
            ...figure,
            what: 'cold load to the first machine, p50',
            value: p50,
            unit: 'ms',
            limit: limitMs,
          },
          { ...figure, what: 'cold load to the first machine, longest', value: max, unit: 'ms' },
          {
            ...figure,
            what: 'scripts transferred until then',
            value: scriptKb,
            unit: 'KB',
            limit: scriptLimitKb,
          },
          {
            ...figure,
            what: 'layout shift (CLS)',
            value: Math.max(...loads.map((load) => load.shift)),
            unit: '',
            limit: 0,
          },
        ]
      }),
    ),
}

type Load = {
  readonly ms: number
  readonly name: string
  readonly shift: number
  /** The elements that moved, to find out why. */
  readonly moved: readonly string[]
  readonly scriptBytes: number
}

async function loadOnce(browser: Browser, person: Person, url: string): Promise<Load> {
  const viewport = { width: 1280, height: 800 }
  const context = await openAs(browser, person, url, { viewport })
  try {
    await context.addInitScript(observer)
    const page = await context.newPage()
    await page.goto(url)
    const row = await page.evaluate<Omit<Load, 'shift' | 'moved'>>('window.firstRow')
    // What moves later than the row counts as well.
    await page.waitForLoadState('networkidle')
    const { shift, moved } = await page.evaluate<Pick<Load, 'shift' | 'moved'>>('window.layout')
    return { ...row, shift, moved }
  } finally {
    await context.close()
  }
}

/** Notes the first machine in the frame in which it is shown. The page's policy forbids to poll for it. */
const observer = `
  window.layout = { shift: 0, moved: [] }
  new PerformanceObserver((list) => {
    for (const { value, sources } of list.getEntries()) {
      window.layout.shift += value
      for (const { node } of sources) window.layout.moved.push(node?.textContent.slice(0, 80))
    }
  }).observe({ type: 'layout-shift', buffered: true })
  window.firstRow = new Promise((resolve) => {
    const seeing = new MutationObserver(() => {
      const row = document.querySelector('[data-row]')
      if (!row) return
      seeing.disconnect()
      requestAnimationFrame(() => {
        const scripts = performance.getEntriesByType('resource')
          .filter(({ name }) => name.endsWith('.js'))
        resolve({
          name: row.textContent,
          scriptBytes: scripts.reduce((sum, { encodedBodySize: size }) => sum + size, 0),
          ms: performance.now(),
        })
      })
    })
    seeing.observe(document, { subtree: true, childList: true })
  })
`
