import assert from 'node:assert/strict'
import type { App } from '../src/app.ts'
import { listenForMetrics } from '../src/metrics/listener.ts'
import type { Lifetime } from './harness.ts'

export type Scrape = Awaited<ReturnType<typeof scrape>>

/** The metrics of an app on a port of their own, which ends with the test. */
export async function serveMetrics(t: Lifetime, app: App): Promise<URL> {
  const listener = await listenForMetrics(app, 0)
  assert.ok(listener)
  t.after(async () => {
    await listener[Symbol.asyncDispose]()
  })
  return new URL(`http://127.0.0.1:${listener.port}/metrics`)
}

/** Reads metrics as Prometheus does: every line is a comment that describes a metric, or a sample of one. */
export async function scrape(address: URL) {
  const answer = await fetch(address)
  assert.equal(answer.status, 200)
  assert.match(answer.headers.get('content-type')!, /^text\/plain; version=0\.0\.4/)
  const text = await answer.text()
  const samples = new Map<string, number>()
  const described = new Set<string>()
  for (const line of text.split('\n').filter(Boolean)) {
    const help = /^# HELP (\S+) \S/.exec(line)
    if (help) described.add(help[1]!)
    if (line.startsWith('#')) continue
    const sample = /^([a-z_]\w*)(?:\{(.*)\})? (\S+)$/.exec(line)
    assert.ok(sample, `not a sample: ${line}`)
    const [, name, labels = '', value] = sample
    const family = name!.replace(/_(bucket|sum|count)$/, '')
    assert.ok(described.has(name!) || described.has(family), `${name} has no description`)
    samples.set(`${name}{${labels.split(',').toSorted().join()}}`, Number(value))
  }
  return {
    text,
    described,
    /** The sum of the samples of that name with all of these labels. */
    sum(name: string, labels: Readonly<Record<string, string>> = {}): number {
      const wanted = Object.entries(labels).map(([label, value]) => `${label}="${value}"`)
      const fits = (key: string) =>
        key.startsWith(`${name}{`) && wanted.every((one) => key.includes(one))
      return [...samples].reduce((sum, [key, value]) => (fits(key) ? sum + value : sum), 0)
    },
    has: (name: string) => [...samples.keys()].some((key) => key.startsWith(`${name}{`)),
  }
}
