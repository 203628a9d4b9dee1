import assert from 'node:assert/strict'
import { execFile } from 'node:child_process'
import { existsSync } from 'node:fs'
import { chmod, copyFile, mkdir, mkdtemp, readFile, rm, stat, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { test, type TestContext } from 'node:test'
import { promisify } from 'node:util'
import { lockDataDir } from '../src/host/server-lock.ts'
import { installService } from '../src/host/service/install.ts'
import { describeUnit, unitName } from '../src/host/service/unit.ts'

/*
 * `computer install-service`. systemd itself reads the units here. The hosts of tests do not run it as their
 * init, so a small stand-in for `systemctl` takes the calls: whether systemd obeys them is not tested.
 */
const run = promisify(execFile)
const systemd = '/lib/systemd/systemd'
const needsSystemd = { skip: !existsSync(systemd) && 'systemd is not installed' }
const needsRoot = { skip: process.getuid?.() !== 0 && 'only root installs a service' }

test('systemd reads the paths of a unit as they are', needsSystemd, async (t) => {
  const root = await folder(t)
  await chmod(root, 0o755)
  for (const dataDir of ['/var/lib/computer', `/srv/100%n $x 'a' "b" \\x41 \\`, '/srv/größe']) {
    const launcher = join(root, 'a place%h/$computer')
    await mkdir(join(root, 'a place%h'), { recursive: true })
    await copyFile('/bin/true', launcher)
    await writeFile(join(root, 'checked.service'), describeUnit(launcher, dataDir))
    const { stderr } = await run('systemd-analyze', ['verify', join(root, 'checked.service')])
    assert.equal(stderr, '')

    const seen = await readUnit(root, 'checked.service')
    assert.equal(
      seen('Environment'),
      dataDir === '/var/lib/computer' ? undefined : `COMPUTER_DATA=${dataDir}`,
    )
    assert.equal(seen('RequiresMountsFor'), `${dataDir} (origin-file)`)
    assert.equal(seen('Command Line'), `"${launcher.replace('$', String.raw`\$`)}" up`)
    const kept = { KillMode: 'process', Delegate: 'yes', LimitNOFILE: '1048576' }
    for (const [name, value] of Object.entries(kept)) assert.equal(seen(name), value)
    assert.equal(seen('TimeoutStopSec'), '3min')
    assert.equal(seen('TasksMax'), String(2n ** 64n - 1n))
    const { stdout } = await run('systemd-escape', ['--path', dataDir])
    if (seen('Environment')) assert.equal(unitName(dataDir), `computer-${stdout.trim()}.service`)
  }
  assert.equal(unitName('/var/lib/computer'), 'computer.service')
})

test('a path that no unit can contain is refused', () => {
  const launcher = '/usr/local/bin/computer'
  for (const bad of ['/srv/a\nExecStartPre=/bin/false', '/srv/\x7f', '/srv/\0']) {
    assert.throws(() => describeUnit(launcher, bad), /it has a control character/)
    assert.throws(() => describeUnit(bad, '/srv/a'), /it has a control character/)
  }
  assert.throws(() => describeUnit('/root/my "computer"', '/srv/a'), /move the checkout/)
})

test('the service is written, enabled and started once', needsRoot, async (t) => {
  const host = await standIn(t)
  const first = await host.install()
  assert.match(first, /^wrote .*\/computer-.*\.service\nenabled .*\nstarted /)
  assert.equal(await readFile(host.unitPath, 'utf8'), describeUnit('/bin/true', host.dataDir))
  assert.equal((await stat(host.unitPath)).mode & 0o777, 0o644)
  assert.deepEqual(await host.calls(), ['daemon-reload', 'enable', 'show', 'start'])

  await host.run(4_194_305)
  assert.match(await host.install(), /is up to date\nenabled .*\n.* is running\n/)
  assert.deepEqual(await host.calls(), ['daemon-reload', 'enable', 'show'])
  const changed = await host.install('/bin/false')
  assert.match(changed, /^changed .*\n.*\n.* runs as before; `systemctl restart .* applies/)
  assert.deepEqual(await host.calls(), ['daemon-reload', 'enable', 'show'])
  assert.match(await readFile(host.unitPath, 'utf8'), /^ExecStart=\/bin\/false up$/m)
})

test('what systemd refuses is said', needsRoot, async (t) => {
  const host = await standIn(t)
  await writeFile(join(host.root, 'refuse'), '')
  await assert.rejects(host.install(), /systemctl daemon-reload failed: not today/)
})

test('a unit that somebody else wrote stays', needsRoot, async (t) => {
  const host = await standIn(t)
  await writeFile(host.unitPath, '[Service]\nEnvironment=COMPUTER_SIGNUP=closed\n')
  await assert.rejects(host.install(), /was not written by this command: move the settings/)
  assert.match(await readFile(host.unitPath, 'utf8'), /SIGNUP=closed/)
  assert.deepEqual(await host.calls(), [])
})

test('a server that the service did not start is in the way', needsRoot, async (t) => {
  const host = await standIn(t)
  using _ = lockDataDir(host.dataDir, { address: 'http://127.0.0.1' })
  await assert.rejects(host.install(), new RegExp(`a server \\(process ${process.pid}\\) that`))
  assert.equal(existsSync(host.unitPath), false)
  // The same process, as the service has started it.
  await host.run(process.pid)
  assert.match(await host.install(), /^wrote .*\n.*\n.* runs as before; /)
})

test('without systemd as init nothing is installed', async (t) => {
  const host = await standIn(t)
  await rm(host.systemd.runDir, { recursive: true })
  await assert.rejects(host.install(), /systemd is not the init of this host/)
  assert.deepEqual(await host.calls(), [])
})

/** A folder in the place of the host's, with a `systemctl` that writes down its calls. */
async function standIn(t: TestContext) {
  const root = await folder(t)
  const dataDir = join(root, 'the data')
  const systemdDirs = { runDir: join(root, 'run'), unitDir: join(root, 'units') }
  for (const path of [dataDir, ...Object.values(systemdDirs), join(root, 'bin')]) await mkdir(path)
  const script = `#!/bin/sh
root='${root}'
echo "$1" >>"$root/calls"
if [ -e "$root/refuse" ]; then echo not today >&2; exit 1; fi
if [ "$1" = show ]; then cat "$root/pid" 2>/dev/null || echo 0; fi
`
  await writeFile(join(root, 'bin/systemctl'), script, { mode: 0o755 })
  const { PATH } = process.env
  process.env['PATH'] = `${root}/bin:${PATH}`
  t.after(() => (process.env['PATH'] = PATH))
  const calls = join(root, 'calls')
  return {
    root,
    dataDir,
    systemd: systemdDirs,
    unitPath: join(systemdDirs.unitDir, unitName(dataDir)),
    async install(launcher = '/bin/true') {
      await rm(calls, { force: true })
      const lines: string[] = []
      const say = (line: string) => void lines.push(`${line}\n`)
      await installService({ launcher, dataDir }, { say }, systemdDirs)
      return lines.join('')
    },
    calls: async () => (await readFile(calls, 'utf8').catch(() => '')).split('\n').filter(Boolean),
    /** From now on the service runs as this process. */
    run: (pid: number) => writeFile(join(root, 'pid'), `${pid}\n`),
  }
}

/** What systemd makes of a unit, by name. It tests units only for a user who is not root. */
async function readUnit(unitDir: string, name: string) {
  const args = ['--test', '--system', `--unit=${name}`]
  const isRoot = process.getuid?.() === 0
  const asNobody = ['setpriv', '--reuid=65534', '--regid=65534', '--clear-groups', '--']
  const [program, ...rest] = [...(isRoot ? asNobody : []), systemd, ...args]
  const env = { ...process.env, SYSTEMD_UNIT_PATH: `${unitDir}:` }
  const { stdout } = await run(program!, rest, { env, maxBuffer: 64 * 2 ** 20 })
  const start = stdout.indexOf(`-> Unit ${name}:`)
  assert.ok(start >= 0, stdout)
  const [text] = stdout.slice(start).split('\n\t-> Unit ')
  return (field: string) => new RegExp(`^\\s*${field}: (.*)$`, 'm').exec(text!)?.[1]
}

async function folder(t: TestContext): Promise<string> {
  const path = await mkdtemp(join(tmpdir(), 'computer-service-'))
  t.after(() => rm(path, { recursive: true, force: true }))
  return path
}
