import assert from 'node:assert/strict'
import { mkdir, mkdtemp, readFile, rm } from 'node:fs/promises'
import { join } from 'node:path'
import { test } from 'node:test'
import { fileURLToPath } from 'node:url'
import { buildMcp } from '../build.ts'
import { tools } from '../src/tools/all.ts'
import { connectOverStdio } from './client.ts'

test('the published package serves the tools', async (t) => {
  // Inside the checkout, so that its dependencies resolve.
  const folder = fileURLToPath(new URL('../../build/', import.meta.url))
  await mkdir(folder, { recursive: true })
  const outDir = await mkdtemp(join(folder, 'mcp-'))
  const mcp = await buildMcp(outDir)
    .then(() => connectOverStdio(t, {}, [join(outDir, 'dist/main.js')]))
    .finally(() => t.after(() => rm(outDir, { recursive: true })))
  assert.equal((await mcp.client.listTools()).tools.length, tools.length)
  const manifest = JSON.parse(await readFile(join(outDir, 'package.json'), 'utf8')) as Manifest
  assert.equal(mcp.client.getServerVersion()?.version, manifest.version)
  assert.ok(Object.keys(manifest.dependencies).every((name) => !name.startsWith('@computer/')))
})

type Manifest = {
  readonly version: string
  readonly dependencies: Readonly<Record<string, string>>
}
