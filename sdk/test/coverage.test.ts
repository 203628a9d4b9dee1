import { endpoints } from '@computer/contract'
import assert from 'node:assert/strict'
import { execFile } from 'node:child_process'
import { glob, readFile } from 'node:fs/promises'
import { test } from 'node:test'
import { fileURLToPath } from 'node:url'
import { promisify } from 'node:util'

const repoDir = fileURLToPath(new URL('../../', import.meta.url))

/** The sources, with shared path constants substituted. */
async function sources(): Promise<string> {
  const texts: string[] = []
  for await (const path of glob(`${repoDir}sdk/src/*.ts`)) {
    const text = await readFile(path, 'utf8')
    const shared = [...text.matchAll(/^const (\w+) = '(\/v1\/[^']*)'$/gm)]
    texts.push(shared.reduce((whole, [, name, at]) => whole.replaceAll(`\${${name}}`, at!), text))
  }
  return texts.join('\n')
}

test('the SDK calls every endpoint of the contract', async () => {
  const text = await sources()
  const routes = Object.values(endpoints).flatMap((group) =>
    Object.values(group).map(({ method, path }) => `${method} ${path}`),
  )
  const isCalled = (route: string) =>
    new RegExp(`['\`]${route.replace(/[{}.]/g, '\\$&')}['\`]`).test(text)
  assert.ok(routes.length > 70)
  assert.deepEqual(
    routes.filter((route) => !isCalled(route)),
    [],
  )
})

test('the generated types match the contract', async () => {
  const check = [`${repoDir}scripts/generate-sdk-types.ts`, '--check']
  const path = `${repoDir}node_modules/.bin:${process.env['PATH']}`
  await promisify(execFile)(process.execPath, check, { env: { ...process.env, PATH: path } })
})
