import assert from 'node:assert/strict'
import { execFile } from 'node:child_process'
import { mkdir, mkdtemp, readFile, readlink, rm, symlink, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { test, type TestContext } from 'node:test'
import { fileURLToPath } from 'node:url'
import { promisify } from 'node:util'
import { launcherLink } from '../src/host/launcher.ts'
import { findLauncher } from '../src/host/welcome.ts'
import { nodesUnderTest } from './nodes.ts'

/* The command `computer` on the host of a server. */

const run = promisify(execFile)
const repoDir = fileURLToPath(new URL('../../', import.meta.url))
const own = join(repoDir, 'cli/bin/computer')

for (const { name, dir } of await nodesUnderTest()) {
  test(`it runs from any folder on a host with ${name}`, async (t) => {
    const root = await folder(t)
    assert.match(await link(root), /The command `computer` is now /)
    const env = {
      PATH: `${join(root, 'bin')}:${dir}:/usr/bin:/bin`,
      HOME: root,
      COMPUTER_DATA: join(root, 'data'),
    }
    const computer = (...args: string[]) => run('computer', args, { cwd: root, env })
    assert.match((await computer('--version')).stdout, /^\d+\.\d+\.\d+\n$/)
    assert.match((await computer('mcp', '--help')).stdout, /^Usage: computer mcp /)
    // These run programs of the server.
    assert.match((await computer('down')).stdout, /no server was ever started/)
    const doctor = await computer('doctor', '--json').catch((error: { stdout: string }) => error)
    assert.ok(JSON.parse(doctor.stdout).checks.length > 3)
    const admin = await computer('admin', 'user', 'list').catch((error: object) => error)
    assert.match((admin as { stderr: string }).stderr, /start the server first: computer up/)
    assert.equal((admin as { code: number }).code, 2)
  })
}

test('its programs keep what they compile in the checkout, or where they are told to', async (t) => {
  const root = await folder(t)
  const show = join(root, 'show.mjs')
  const script = `import { getCompileCacheDir } from 'node:module'; console.log(getCompileCacheDir())`
  await writeFile(show, script)
  const { NODE_COMPILE_CACHE: _, ...inherited } = process.env
  const env = { ...inherited, NODE_OPTIONS: `--import=${show}` }
  for (const [expected, settings] of [
    [join(repoDir, '.cache/compiled'), {}],
    [join(root, 'cache'), { NODE_COMPILE_CACHE: join(root, 'cache') }],
  ] as const) {
    const { stdout } = await run(own, ['--version'], { env: { ...env, ...settings } })
    assert.ok(stdout.startsWith(`${expected}/`), stdout)
  }
})

test('the set-up makes the link once, and replaces one whose checkout is gone', async (t) => {
  const root = await folder(t)
  const launcher = join(root, 'bin/computer')
  assert.match(await link(root), /is now/)
  assert.equal(await readlink(launcher), own)
  assert.equal(await link(root), '')
  await rm(launcher)
  await symlink(join(root, 'gone/cli/bin/computer'), launcher)
  assert.match(await link(root), /is now/)
  assert.equal(await readlink(launcher), own)
})

test('the set-up keeps what is not its own, and says what to use instead', async (t) => {
  const root = await folder(t)
  const launcher = join(root, 'bin/computer')
  await mkdir(join(root, 'bin'))
  await writeFile(launcher, 'mine')
  const said = await link(root)
  assert.ok(said.includes(`${launcher} exists. Use ${own}`), said)
  assert.equal(await readFile(launcher, 'utf8'), 'mine')

  const other = join(root, 'other/cli/bin/computer')
  await mkdir(join(root, 'other/cli/bin'), { recursive: true })
  await writeFile(other, '')
  for (const target of [other, join(root, 'no such program')]) {
    await rm(launcher)
    await symlink(target, launcher)
    assert.match(await link(root), /exists\. Use /)
    assert.equal(await readlink(launcher), target)
  }
})

test('without a place for the link the set-up says what to use instead', async (t) => {
  const root = await folder(t)
  await writeFile(join(root, 'bin'), 'a file')
  assert.ok(
    (await link(root)).startsWith(`Could not write ${join(root, 'bin/computer')}. Use ${own}`),
  )
})

test('a started server names the command as the shell of its operator finds it', async (t) => {
  const root = await folder(t)
  await link(root)
  const bin = join(root, 'bin')
  const npmBin = join(root, 'node_modules/.bin')
  await mkdir(npmBin, { recursive: true })
  await symlink(own, join(npmBin, 'computer'))
  assert.equal(findLauncher(`/nonexistent:${bin}`), 'computer')
  assert.equal(findLauncher(npmBin), own)
  const other = join(root, 'other')
  await mkdir(other)
  await writeFile(join(other, 'computer'), '')
  assert.equal(findLauncher(`${other}:${bin}`), own)
  assert.equal(findLauncher('', "/a place/it's"), String.raw`'/a place/it'\''s'`)
})

test('the server knows the place where the set-up puts the command', async () => {
  const launcher = await readFile(join(repoDir, 'scripts/setup/launcher.sh'), 'utf8')
  assert.equal(/^launcher=(.*)$/m.exec(launcher)![1], launcherLink)
})

/** Runs that part of the set-up, with `bin` of a folder in the place of /usr/local/bin. */
async function link(root: string): Promise<string> {
  const script = `. scripts/setup/progress.sh; . scripts/setup/launcher.sh
    repo=$1; launcher=$2/bin/computer; link_launcher`
  const args = ['-euo', 'pipefail', '-c', script, 'test', repoDir.replace(/\/$/, ''), root]
  return (await run('bash', args, { cwd: repoDir })).stdout
}

async function folder(t: TestContext): Promise<string> {
  const path = await mkdtemp(join(tmpdir(), 'computer-launcher-'))
  t.after(() => rm(path, { recursive: true, force: true }))
  return path
}
