import assert from 'node:assert/strict'
import { mkdtemp, readFile, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { test } from 'node:test'
import { buildMcp } from '../build.ts'
import { tools } from '../src/tools/all.ts'
import { connectOverStdio } from './client.ts'

test('the published package serves the tools, and depends on nothing', async (t) => {
  const outDir = await mkdtemp(join(tmpdir(), 'computer-mcp-'))
  t.after(() => rm(outDir, { recursive: true }))
  await buildMcp(outDir)
  const mcp = await connectOverStdio(t, {}, [join(outDir, 'dist/main.js')])
  assert.equal((await mcp.client.listTools()).tools.length, tools.length)
  const manifest = JSON.parse(await readFile(join(outDir, 'package.json'), 'utf8')) as Manifest
  assert.equal(mcp.client.getServerVersion()?.version, manifest.version)
  assert.equal(manifest.dependencies, undefined)
})

type Manifest = {
  readonly version: string
  readonly dependencies?: Readonly<Record<string, string>>
}
