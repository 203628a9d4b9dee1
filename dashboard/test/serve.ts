import { parseArgs } from 'node:util'
import { addSampleData } from './sample.ts'
import { startDashboard } from './harness.ts'

/*
 * Serves the built dashboard over the fake engine, with sample data, until it is interrupted:
 *
 *     vite build dashboard && node dashboard/test/serve.ts [--empty]
 *
 * Sign in as the printed person. Screens show the test picture of the fake engine; for real machines run
 * `npm start` instead, and `vite dashboard` to serve the sources with the API of that server.
 */
const { values } = parseArgs({ options: { empty: { type: 'boolean', default: false } } })
const ends: (() => void | Promise<void>)[] = []
const dashboard = await startDashboard({ after: (end) => void ends.unshift(end) })
if (!values.empty) await addSampleData(dashboard.owner)
console.log(`${dashboard.url}   ${dashboard.owner.email}   ${dashboard.owner.password}`)
for (const signal of ['SIGINT', 'SIGTERM'] as const) {
  process.once(signal, () => {
    void (async () => {
      for (const end of ends) await end()
      process.exit(0)
    })()
  })
}
