import assert from 'node:assert/strict'
import { execFile } from 'node:child_process'
import { mkdir, mkdtemp, readFile, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { test } from 'node:test'
import { promisify } from 'node:util'
import { buildCli } from '../build.ts'
import { node } from './computer.ts'

const run = promisify(execFile)

test('the published package installs without dependencies and runs', async (t) => {
  const folder = await mkdtemp(join(tmpdir(), 'computer-package-'))
  t.after(() => rm(folder, { recursive: true, force: true }))
  await buildCli(join(folder, 'build'))
  const packing = await run('npm', ['pack', './build', '--json'], { cwd: folder })
  const [{ filename, files }] = JSON.parse(packing.stdout)
  const names = files.map(({ path }: { path: string }) => path)
  for (const name of ['LICENSE', 'README.md', 'CHANGELOG.md', 'THIRD_PARTY_LICENSES'])
    assert.ok(names.includes(name), name)

  const project = join(folder, 'project')
  await mkdir(project)
  await writeFile(join(project, 'package.json'), '{}')
  await run('npm', ['install', '--offline', join(folder, filename)], { cwd: project })
  const installed = join(project, 'node_modules/@computer/cli')
  const { version, bin, dependencies } = JSON.parse(
    await readFile(join(installed, 'package.json'), 'utf8'),
  )
  assert.equal(dependencies, undefined)
  const computer = join(installed, bin.computer)
  assert.equal((await run(node, [computer, '--version'])).stdout, `${version}\n`)
  assert.match((await run(node, [computer, '--help'])).stdout, /^Usage: computer /)
  const failure = (error: { code: number; stderr: string }) =>
    error.code === 1 &&
    /run it on the host of the server, as \/usr\/local\/bin\/computer/.test(error.stderr)
  await assert.rejects(run(node, [computer, 'up']), failure)
})
